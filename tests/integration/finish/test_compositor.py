"""Whatever the compositor does, it does once, on the whole frame, as plain Blender does it: refusals too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from farm.domain.tiles import Size, TileGrid
from tests.integration.blender.driver import look, read_exr, same_bits
from tests.integration.finish.ways import Pieces, Plain
from workers.protocol import Done, Failed, FinishFrame

SIZE = Size(61, 37)
_TREE = """
tree = bpy.data.node_groups.new('Tree', 'CompositorNodeTree')
scene.compositing_node_group = tree
tree.interface.new_socket('Image', in_out='OUTPUT', socket_type='NodeSocketColor')
new, link = tree.nodes.new, tree.links.new
source = new('CompositorNodeRLayers')
source.scene = scene
result = new('NodeGroupOutput').inputs[0]
"""
_IMAGE = """
image = bpy.data.images.get('read') or bpy.data.images.new('read', 1, 1)
node = new('CompositorNodeImage')
node.image = image
image.source, image.filepath = 'FILE', {path!r}
mix = new('ShaderNodeMix')
mix.data_type, mix.blend_type, mix.inputs['Factor'].default_value = 'RGBA', 'ADD', 1.0
first, second = (socket for socket in mix.inputs if socket.type == 'RGBA')
link(source.outputs['Image'], first)
link(node.outputs['Image'], second)
link(next(socket for socket in mix.outputs if socket.type == 'RGBA'), result)
"""
_OTHERS = """
other = scene.copy()
other.name, other.use_fake_user = 'Denoised', True
other.cycles.use_denoising, other.cycles.samples = True, 4
bare = bpy.data.scenes.new('Bare')
bare.render.engine, bare.use_fake_user = 'CYCLES', True
"""

CASES: dict[str, str] = {
    "denoise node": _TREE
    + """
scene.view_layers[0].cycles.denoising_store_passes = True
source.layer = scene.view_layers[0].name
denoise = new('CompositorNodeDenoise')
for name, into in (('Image', 'Image'), ('Denoising Albedo', 'Albedo'), ('Denoising Normal', 'Normal')):
    link(source.outputs[name], denoise.inputs[into])
link(denoise.outputs[0], result)
""",
    "muted nodes": _TREE
    + """
blur = new('CompositorNodeBlur')
blur.inputs['Size'].default_value = (9, 9)
blur.mute = True
link(source.outputs['Image'], blur.inputs['Image'])
link(blur.outputs['Image'], result)
files = new('CompositorNodeOutputFile')
files.directory, files.mute = '//never', True
files.file_output_items.new('RGBA', 'never')
link(source.outputs['Image'], files.inputs[0])
""",
    "compositing off": _TREE + "scene.render.use_compositing = False",
    "two layers over each other": _TREE
    + """
back = new('CompositorNodeRLayers')
back.scene, back.layer = scene, 'Layer 1'
over = new('CompositorNodeAlphaOver')
over.inputs['Factor'].default_value = 0.5
for socket, from_ in zip([s for s in over.inputs if s.type == 'RGBA'], (back, source)):
    link(from_.outputs['Image'], socket)
link(over.outputs[0], result)
""",
    "an image from disk": _TREE + _IMAGE.format(path="//read.png"),
    "a missing image": _TREE + _IMAGE.format(path="//gone.png"),
    "layers inside of a group alone": _TREE
    + """
inner = bpy.data.node_groups.new('Inner', 'CompositorNodeTree')
inner.interface.new_socket('Image', in_out='OUTPUT', socket_type='NodeSocketColor')
nested = inner.nodes.new('CompositorNodeRLayers')
nested.scene = scene
inner.links.new(nested.outputs['Image'], inner.nodes.new('NodeGroupOutput').inputs[0])
tree.nodes.remove(source)
group = new('CompositorNodeGroup')
group.node_tree = inner
link(group.outputs[0], result)
""",
    "another scene, denoised": _TREE
    + """
source.scene = bpy.data.scenes['Denoised']
own = new('CompositorNodeRLayers')
own.scene = scene
link(source.outputs['Image'], result)
""",
    "another scene alone": _TREE
    + "source.scene = bpy.data.scenes['Denoised']; link(source.outputs['Image'], result)",
    "a scene that is not there": _TREE + "source.scene = None; link(source.outputs['Image'], result)",
    "a layer that is not there": _TREE
    + "scene.view_layers.new('Gone'); source.layer = 'Gone'; link(source.outputs['Image'], result);"
    "scene.view_layers.remove(scene.view_layers['Gone'])",
    "files and no picture": _TREE
    + """
for node in [node for node in tree.nodes if node.bl_idname == 'NodeGroupOutput']:
    tree.nodes.remove(node)
files = new('CompositorNodeOutputFile')
files.directory, files.file_name = '//files and no picture', 'only_'
files.file_output_items.new('RGBA', 'it')
link(source.outputs['Image'], files.inputs[0])
""",
    "no output node": _TREE
    + "[tree.nodes.remove(node) for node in list(tree.nodes) if node.bl_idname == 'NodeGroupOutput']",
    "outside": _TREE
    + """
link(source.outputs['Image'], result)
for folder, name in (
    ('//../../up', 'a'), ('/etc/{blend_name}', 'b'),
    ('C:\\\\\\\\{scene_name}\\\\\\\\x', '../../c'), ('{blend_dir}/../d', '/e'),
):
    files = new('CompositorNodeOutputFile')
    files.directory, files.file_name = folder, name
    files.file_output_items.new('RGBA', '../out')
    link(source.outputs['Image'], files.inputs[0])
""",
}
REFUSED: dict[str, tuple[str, str]] = {
    "a scene without a camera": (
        _TREE + "source.scene = bpy.data.scenes['Bare']; link(source.outputs['Image'], result);"
        "own = new('CompositorNodeRLayers'); own.scene = scene",
        "“Bare”",
    ),
    "an output path with a template that is none": (
        _TREE + "link(source.outputs['Image'], result);"
        "scene.render.filepath = '//an output path with a template that is none/{frame}_##'",
        "Unknown variable referenced in template expression '{frame}'.",
    ),
}


@dataclass
class Made:
    """What came of each case, by its name."""

    plain: dict[str, dict[str, Path]] = field(default_factory=dict)
    pieces: dict[str, dict[str, Path]] = field(default_factory=dict)
    failed: dict[str, Done | Failed] = field(default_factory=dict)
    outside: set[Path] = field(default_factory=set)


@pytest.fixture(scope="module")
def made(build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("compositor")
    picture = np.linspace(0, 255, SIZE.width * SIZE.height * 3).astype(np.uint8)
    Image.fromarray(picture.reshape(SIZE.height, SIZE.width, 3)).save(folder / "read.png")
    codes = CASES | {name: code for name, (code, _) in REFUSED.items()}
    scene = build(
        width=SIZE.width,
        height=SIZE.height,
        samples=2,
        objects=3,
        layers=2,
        file_format="OPEN_EXR",
        extra=_OTHERS,
        variants={name: f"scene.render.filepath = '//{name}/a_'\n{code}" for name, code in codes.items()},
    )
    made = Made()
    for side in ("plain", "pieces"):
        (folder / side / "in").mkdir(parents=True)
        (folder / side / "in" / "read.png").write_bytes((folder / "read.png").read_bytes())
    with Plain(scene, folder / "plain" / "in") as plain, Pieces(scene, folder / "pieces" / "in") as pieces:
        merged = pieces.merged(TileGrid(2, 2), SIZE)
        stored = pieces.merged(TileGrid(2, 2), SIZE, scene="denoise node")
        before = _everything(folder / "pieces")
        for name in CASES:
            if name != "outside":  # plain Blender would write there
                own = plain.folder / name
                made.plain[name] = {path.relative_to(own).as_posix(): path for path in plain.render(name)}
            done = pieces.finish(stored if name == "denoise node" else merged, f"out/{name}", name)
            made.pieces[name] = {each: pieces.folder / "out" / name / each for each in done.outputs}
        for name in REFUSED:
            made.plain[name] = {path.name: path for path in plain.render(name)}
            request = FinishFrame(
                look(scene=name), str(merged), str(pieces.folder / "out" / name), str(folder / "p.jpg")
            )
            made.failed[name] = pieces.child.ask(request)
        new = _everything(folder / "pieces") - before
        made.outside = {path for path in new if not path.is_relative_to(pieces.folder / "out")}
    return made


def _everything(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and path.name != "finish.jpg"}


@pytest.mark.parametrize("name", [name for name in CASES if name != "outside"])
def test_the_finish_is_plain_blenders(made: Made, name: str) -> None:
    direct, finished = made.plain[name], made.pieces[name]
    assert sorted(finished) == sorted(direct)
    assert direct
    for file, path in direct.items():
        assert same_bits(read_exr(path), read_exr(finished[file])) == []


def test_nothing_is_written_outside_and_all_of_it_is_told(made: Made) -> None:
    assert made.outside == set()
    assert sorted(made.pieces["outside"]) == [
        "a_0003.exr",
        "d/e0003.exr",
        "scene/b0003.exr",
        "up/a0003.exr",
        "x/c0003.exr",
    ]


@pytest.mark.parametrize("name", REFUSED)
def test_what_blender_cannot_make_has_a_reason(made: Made, name: str) -> None:
    assert made.plain[name] == {}
    failed = made.failed[name]
    assert isinstance(failed, Failed)
    assert (failed.cause, bool(failed.cure)) == ("bad-scene", True)
    assert REFUSED[name][1] in failed.what
