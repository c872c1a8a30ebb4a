"""File names, stamps and metadata of a finished frame are those of Blender's own command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from farm.domain.tiles import Size, TileGrid
from tests.integration.blender.driver import read_exr, same_bits
from tests.integration.finish.ways import Pieces, Plain, metadata

SIZE = Size(61, 37)
#: Output paths below the folder of the case, each with what else is set, and the names that come of them.
NAMES: dict[str, tuple[str, str, list[str]]] = {
    "padded": ("shot_####", "", ["shot_0003.png"]),
    "unpadded": ("shot_#", "", ["shot_3.png"]),
    "no number": ("shot", "", ["shot0003.png"]),
    "number within": ("a_######_b", "", ["a_000003_b.png"]),
    "two numbers": ("a##b###", "", ["a##b003.png"]),
    "nothing": ("", "", ["0003.png"]),
    "subfolder": ("day/night/x_##", "", ["x_03.png"]),
    "extension of its own": ("shot_##.png", "", ["shot_03.png"]),
    "another extension": ("shot_##.jpg", "", ["shot_03.png"]),
    "extension off": ("shot_##", "scene.render.use_file_extension = False", ["shot_03"]),
    "template": ("{blend_name}_{resolution_x}x{resolution_y}_{fps}_##", "", ["scene_61x37_24.0_03.png"]),
    "braces": ("a_{{b}}_##", "", ["a_{b}_03.png"]),
    "views": ("v_##", "scene.render.use_multiview = True", ["v_03_L.png", "v_03_R.png"]),
    "one stereo picture": (
        "v_##",
        "scene.render.use_multiview = True; scene.render.image_settings.views_format = 'STEREO_3D'",
        ["v_03.png"],
    ),
    "views in one file": (
        "v_##",
        "scene.render.use_multiview = True; save_as(scene, 'OPEN_EXR_MULTILAYER');"
        "scene.render.image_settings.views_format = 'MULTIVIEW'",
        ["v_03.exr"],
    ),
}
KEYS = ("time", "frame", "frame_range", "camera", "lens", "scene", "note", "marker", "sequencer_strip")
CLOCKS = ("date", "render_time", "memory", "hostname", "filename")
_STAMPS = "\n".join(
    [
        "r = scene.render",
        "r.stamp_note_text, r.use_stamp, r.stamp_font_size = 'take 2', {burn}, 8",
        "r.use_stamp_labels = {labels}",
        *(f"r.use_stamp_{key} = {key!r} in {{keys}}" for key in KEYS + CLOCKS),
    ]
)


def _stamps(*keys: str, burn: bool = False, labels: bool = True, kind: str = "PNG") -> str:
    return _STAMPS.format(burn=burn, labels=labels, keys=keys) + f"\nsave_as(scene, {kind!r})"


STAMPS: dict[str, str] = {
    "all keys, PNG": _stamps(*KEYS, *CLOCKS),
    "all keys, EXR": _stamps(*KEYS, *CLOCKS, kind="OPEN_EXR"),
    "all keys, layers": _stamps(*KEYS, *CLOCKS, kind="OPEN_EXR_MULTILAYER"),
    "all keys, JPEG": _stamps(*KEYS, *CLOCKS, kind="JPEG"),
    "no keys": _stamps(),
    "burnt in": _stamps(*KEYS, burn=True),
    "burnt in without labels": _stamps(*KEYS, burn=True, labels=False, kind="JPEG"),
    "burnt into floats": _stamps("frame", "note", burn=True, kind="OPEN_EXR"),
    **{f"only {key}": _stamps(key, burn=True) for key in KEYS},
}
_SCENE = """
scene.timeline_markers.new('mark', frame=2)
scene.frame_start, scene.frame_end, scene.frame_step = 1, 240, 2
"""


@dataclass(frozen=True)
class Outcome:
    plain: dict[str, Path]
    pieces: dict[str, Path]


@pytest.fixture(scope="module")
def made(build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("names")
    codes = {
        name: f"scene.render.filepath = '//{name}/{path}'\n{code}" for name, (path, code, _) in NAMES.items()
    }
    codes |= {name: f"scene.render.filepath = '//{name}/a_'\n{code}" for name, code in STAMPS.items()}
    options = {"width": SIZE.width, "height": SIZE.height, "samples": 2, "objects": 2, "extra": _SCENE}
    scene = build(variants=codes, **options)
    found: dict[str, Outcome] = {}
    with Plain(scene, folder / "plain") as plain, Pieces(scene, folder / "pieces") as pieces:
        one = pieces.merged(TileGrid(2, 2), SIZE)
        two = pieces.merged(TileGrid(2, 2), SIZE, scene="views in one file")
        for name in codes:
            direct = {path.name: path for path in plain.render(name)}
            done = pieces.finish(two if "view" in name or "stereo" in name else one, name, name)
            found[name] = Outcome(direct, {each: pieces.folder / name / each for each in done.outputs})
    return found


@pytest.mark.parametrize("name", NAMES)
def test_names_are_blenders(made: dict[str, Outcome], name: str) -> None:
    assert sorted(made[name].plain) == NAMES[name][2]
    assert sorted(made[name].pieces) == NAMES[name][2]


@pytest.mark.parametrize("name", [*NAMES, *STAMPS])
def test_pictures_and_metadata_are_blenders(made: dict[str, Outcome], name: str) -> None:
    outcome = made[name]
    assert outcome.plain
    for file, direct in outcome.plain.items():
        finished = outcome.pieces[file]
        if file.endswith(".exr"):
            assert same_bits(read_exr(direct), read_exr(finished)) == []
        else:
            with Image.open(direct) as first, Image.open(finished) as second:
                assert np.array_equal(np.asarray(first), np.asarray(second))
        assert metadata(finished) == metadata(direct)


def test_metadata_tells_of_the_scene_and_not_of_the_farm(made: dict[str, Outcome]) -> None:
    (path,) = made["all keys, PNG"].pieces.values()
    told = metadata(path)
    assert {key: told[key] for key in ("Frame", "FrameRange", "Time", "Marker", "Note", "Strip", "Lens")} == {
        "Frame": "003",
        "FrameRange": "1:240",
        "Time": "00:00:00:03",
        "Marker": "mark",
        "Note": "take 2",
        "Strip": "<none>",
        "Lens": "50.00",
    }
    assert (told["Camera"], told["Scene"]) == ("Camera", "all keys, PNG")


def test_stamps_are_in_the_picture(made: dict[str, Outcome]) -> None:
    (plain,), (burnt,) = made["no keys"].pieces.values(), made["only note"].pieces.values()
    with Image.open(plain) as first, Image.open(burnt) as second:
        assert not np.array_equal(np.asarray(first), np.asarray(second))


KEPT = {
    "denoised, composited": "scene.cycles.use_denoising = True",
    "adaptive": "scene.cycles.use_denoising = scene.cycles.use_adaptive_sampling = True;"
    "scene.cycles.adaptive_threshold = 0.1; scene.cycles.samples = 20",
    "stored": "scene.cycles.use_denoising = True; scene.view_layers[0].cycles.denoising_store_passes = True",
    "own linear space": "save_as(scene, 'OPEN_EXR_MULTILAYER'); s = scene.render.image_settings;"
    "s.color_management, s.linear_colorspace_settings.name = 'OVERRIDE', 'ACEScg';"
    "scene.cycles.use_denoising = True",
    "stamped": "scene.render.use_stamp = scene.render.use_stamp_note = True;"
    "scene.render.stamp_note_text = 'x'",
}


#: Kept passes and output of a whole frame and of a cut one: (whole, cut, whole's output, cut's output).
Kept = dict[str, tuple[Path, Path, Path, Path]]


@pytest.fixture(scope="module")
def kept(build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    options = {"width": SIZE.width, "height": SIZE.height, "samples": 2, "objects": 3, "layers": 2}
    scene = build(compositor="glare", variants=KEPT, **options)
    found: Kept = {}
    with Pieces(scene, folder / "whole") as whole, Pieces(scene, folder / "pieces") as pieces:
        for name in KEPT:
            paths = whole.folder / f"{name}.exr", pieces.folder / f"{name}.exr"
            (direct,) = whole.whole(f"out/{name}", name, exr=str(paths[0])).outputs
            merged = pieces.merged(TileGrid(2, 2), SIZE, scene=name, overlap=2 if name == "adaptive" else 0)
            (output,) = pieces.finish(merged, f"out/{name}", name, exr=str(paths[1])).outputs
            found[name] = (
                *paths,
                whole.folder / "out" / name / direct,
                pieces.folder / "out" / name / output,
            )
    return found


@pytest.mark.parametrize("name", KEPT)
def test_kept_passes_of_a_cut_frame_are_those_of_a_whole_one(kept: Kept, name: str) -> None:
    whole, cut, direct, output = kept[name]
    passes = read_exr(whole)
    assert same_bits(passes, read_exr(cut)) == []
    assert metadata(cut) == metadata(whole)
    if output.suffix == ".exr":
        assert same_bits(read_exr(direct), read_exr(output)) == []
    assert "Composite.Combined.R" in passes
    assert ("ViewLayer.Noisy Image.R" in passes) == (name != "stamped")
    assert ("ViewLayer.Denoising Albedo.R" in passes) == (name == "stored")
    assert "ViewLayer.Debug Sample Count.X" not in passes
