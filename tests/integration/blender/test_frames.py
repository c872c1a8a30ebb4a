"""Frames are saved under the names of Blender's own command line, and nothing lands anywhere else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.integration.blender.driver import RenderProcess, look, read_exr
from workers.protocol import Done, RenderFrame

Start = Callable[..., RenderProcess]
Opened = Callable[[Path], RenderProcess]
Build = Callable[..., Path]
SMALL = {"width": 32, "height": 18, "samples": 1, "objects": 1}


def render(child: RenderProcess, out: Path, frame: int = 3, **rest: object) -> Done:
    return child.done(RenderFrame(look(frame, **rest), str(out), str(out.parent / f"{out.name}.jpg")))


NAMED = [
    ("//renders/shot_####", 3, "shot_0003.png"),
    ("//renders/shot_", 12, "shot_0012.png"),
    ("//renders/", 7, "0007.png"),
    ("/var/", 7, "0007.png"),
    ("E:\\jobs\\new\\hero.###", 4, "hero.004.png"),
    ("C:\\", 4, "0004.png"),
    ("//../../../etc/shadow", 4, "shadow0004.png"),
    ("/etc/../..", 4, "0004.png"),
    ("//{blend_name}_####", 4, "scene_0004.png"),
    ("{blend_dir}/x_", 4, "x_0004.png"),
    ("//a/b/{blend_dir}", 4, "0004.png"),
]


@pytest.mark.parametrize(("output", "frame", "name"), NAMED)
def test_a_frame_is_named_as_by_blenders_command_line(
    opened: Opened, build: Build, tmp_path: Path, output: str, frame: int, name: str
) -> None:
    variants = {f"to {path}": f"scene.render.filepath = {path!r}" for path, _, _ in NAMED}
    scene = build(variants=variants, **SMALL)
    before = everything(scene.parent)
    assert render(opened(scene), tmp_path / "out", frame, scene=f"to {output}").outputs == [name]
    assert everything(tmp_path / "out") == {name}
    assert everything(scene.parent) == before


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_name_is_the_one_that_blender_itself_gives(start: Start, build: Build, tmp_path: Path) -> None:
    scene = build(output="//own/take_##_####", **SMALL)
    script = (
        "import bpy, sys; bpy.ops.wm.open_mainfile(filepath=sys.argv[1]); s = bpy.context.scene; "
        "s.render.filepath = sys.argv[2] + '/take_##_####'; s.frame_start = s.frame_end = 5; "
        "bpy.ops.render.render(animation=True)"
    )
    own = tmp_path / "own"
    subprocess.run([sys.executable, "-c", script, str(scene), str(own)], check=True, capture_output=True)
    assert render(start(scene), tmp_path / "out", 5).outputs == sorted(everything(own))


HOSTILE = (
    "output_node(scene, 'E:\\\\\\\\Git\\\\\\\\masks', ('A', 'sub/dir_', 'D:\\\\\\\\x\\\\\\\\y'));"
    "output_node(scene, '//../../../climb/masks', ('B',), '../../up_');"
    "output_node(scene, '/var/out/', ('C',));"
    "output_node(scene, '//renders', ('beside_',))"
)


def test_file_output_nodes_write_inside_with_frame_numbers(
    start: Start, build: Build, tmp_path: Path
) -> None:
    scene = build(compositor="glare", extra=HOSTILE, **SMALL)
    child = start(scene)
    expected = [
        "beside_0003.png",
        "masks/A0003.png",
        "masks/D_/x/y0003.png",
        "masks/sub/dir_0003.png",
        "masks_2/up_B0003.png",
        "out/C0003.png",
        "shot_0003.png",
    ]
    assert render(child, tmp_path / "out").outputs == expected
    assert everything(tmp_path / "out") == set(expected)
    assert render(child, tmp_path / "again").outputs == expected  # paths were given back in between


def test_a_link_laid_in_the_way_is_not_reported_as_output(start: Start, build: Build, tmp_path: Path) -> None:
    scene = build(compositor="glare", extra="output_node(scene, '//masks', ('A',))", **SMALL)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "masks").symlink_to(tmp_path / "elsewhere")
    failed = start(scene).failed(RenderFrame(look(), str(tmp_path / "out"), str(tmp_path / "p.jpg")))
    assert failed.cause == "bad-result"
    assert "link" in failed.what
    assert everything(tmp_path / "elsewhere") == set()


def test_a_camera_override_silences_the_markers(start: Start, build: Build, tmp_path: Path) -> None:
    extra = (
        "add_camera(scene, 'Left', -3.0); add_camera(scene, 'Right', 3.0);"
        "m = scene.timeline_markers.new('L', frame=1); m.camera = bpy.data.objects['Left'];"
        "m = scene.timeline_markers.new('R', frame=5); m.camera = bpy.data.objects['Right']"
    )
    child = start(build(extra=extra, width=48, height=27, samples=1, objects=3))

    def picture(name: str, frame: int, **rest: object) -> np.ndarray:
        (output,) = render(child, tmp_path / name, frame, **rest).outputs
        with Image.open(tmp_path / name / output) as image:
            return np.asarray(image).astype(int)

    left, right = picture("left", 6, camera="Left"), picture("right", 6, camera="Right")
    assert np.abs(left - right).max() > 40
    assert np.array_equal(picture("marker", 6), right)  # the markers are back, and rule
    assert np.array_equal(picture("centre", 6, camera="Right"), right)


def test_overrides_hold_for_one_request_only(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build(**SMALL))
    for percentage, size in ((50, (16, 9)), (None, (32, 18)), (200, (64, 36))):
        (name,) = render(child, tmp_path / f"{percentage}", 3, percentage=percentage).outputs
        with Image.open(tmp_path / f"{percentage}" / name) as image:
            assert image.size == size


def test_movie_output_is_written_as_png_with_a_note(start: Start, build: Build, tmp_path: Path) -> None:
    done = render(start(build(file_format="FFMPEG", output="//clip.mp4", **SMALL)), tmp_path / "out")
    assert done.outputs == ["clip.mp40003.png"] or done.outputs == ["clip0003.png"]
    assert done.notes == ["The scene's output is a movie (FFMPEG): its frames are written as PNG."]


def test_an_image_of_the_scene_called_as_the_render_is_not_taken_for_it(
    start: Start, build: Build, tmp_path: Path
) -> None:
    extra = "i = bpy.data.images.new('Render Result', 8, 8); i.use_fake_user = True; i.pack()"
    child = start(build(extra=extra, **SMALL))
    passes = str(tmp_path / "passes.exr")
    child.done(RenderFrame(look(3), str(tmp_path / "out"), str(tmp_path / "out.jpg"), passes))
    with Image.open(tmp_path / "out.jpg") as image:
        assert image.size == (32, 18)
    assert "ViewLayer.Combined.R" in read_exr(tmp_path / "passes.exr")


def test_two_views_give_two_files_and_one_preview(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build(extra="scene.render.use_multiview = True", **SMALL))
    assert render(child, tmp_path / "out").outputs == ["shot_0003_L.png", "shot_0003_R.png"]
    with Image.open(tmp_path / "out.jpg") as image:
        assert image.size == (32, 18)


def test_the_preview_is_the_frame_through_the_view_transform(
    start: Start, build: Build, tmp_path: Path
) -> None:
    layers = {"layers": "save_as(scene, 'OPEN_EXR_MULTILAYER')"}
    child = start(build(width=64, height=36, compositor="glare", variants=layers))
    (name,) = render(child, tmp_path / "png").outputs
    render(child, tmp_path / "exr", scene="layers")
    for preview in ("png.jpg", "exr.jpg"):
        with Image.open(tmp_path / "png" / name) as png, Image.open(tmp_path / preview) as shown:
            assert shown.format == "JPEG"
            expected = np.asarray(png.convert("RGB")).astype(int)
            assert np.abs(np.asarray(shown.convert("RGB")) - expected).mean() < 4


def test_the_sequencers_picture_is_output_and_preview_and_needs_no_camera(
    start: Start, build: Build, tmp_path: Path
) -> None:
    extra = (
        "editor = scene.sequence_editor_create(); "
        "strip = editor.strips.new_effect('Red', 'COLOR', 1, 1, length=20);"
        "strip.color = (1, 0, 0)"
    )
    child = start(build(extra=extra, camera=False, **SMALL))
    (name,) = render(child, tmp_path / "out").outputs
    for path in (tmp_path / "out" / name, tmp_path / "out.jpg"):
        with Image.open(path) as image:
            red, green, blue = np.asarray(image.convert("RGB")).reshape(-1, 3).mean(axis=0)
            assert red > 3 * max(green, blue)


def test_kept_passes_are_those_of_the_frame(start: Start, build: Build, tmp_path: Path) -> None:
    exr = tmp_path / "kept" / "passes.exr"
    child = start(build(denoise=True, compositor="glare", **SMALL))
    child.done(RenderFrame(look(), str(tmp_path / "out"), str(tmp_path / "p.jpg"), str(exr)))
    kept = read_exr(exr)
    assert {"ViewLayer.Combined.R", "ViewLayer.Depth.Z", "Composite.Combined.R"} <= set(kept)
    assert {channel.dtype for channel in kept.values()} == {np.dtype("float32")}
    assert (tmp_path / "out" / "shot_0003.png").exists()


def test_counts_are_cycles_own_and_seconds_add_up(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build(layers=2, samples=8, compositor="glare"))
    done = render(child, tmp_path / "out")
    phases = list(dict.fromkeys((count.phase, count.layer) for count in child.counts))
    assert phases[:4] == [
        ("syncing", "ViewLayer"),
        ("rendering", "ViewLayer"),
        ("syncing", "Layer 1"),
        ("rendering", "Layer 1"),
    ]
    assert ("compositing", "") in phases
    assert phases[-1] == ("saving", "")
    last = [count for count in child.counts if count.layer == "Layer 1"][-1]
    assert (last.sample, last.samples) == (8, 8)
    assert set(done.seconds) == {"sync", "render", "save"}
    assert all(value >= 0 for value in done.seconds.values())
    assert done.seconds["render"] > 0
    assert (done.device, bool(done.device_name)) == ("CPU", True)
    assert done.peak_memory > 50 * 1024 * 1024
