"""Several views: pieces hold them all, and a finished frame is what a direct render writes of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from farm.domain.tiles import Size
from tests.integration.blender.cut import assembled, direct, finish, same_files, whole
from tests.integration.blender.driver import RenderProcess, look, same_bits
from workers.protocol import FinishFrame, Inspect, Open

Build = Callable[..., Path]

STEREO = (
    "r = scene.render; r.use_multiview = True; s = scene.camera.data.stereo;"
    "s.convergence_mode = '{mode}'; s.pivot = '{pivot}'; s.interocular_distance = 0.6;"
    "s.convergence_distance = 7;"
)
#: A view beyond left and right, left over from another setting: Blender does not render it.
LEFT_OVER = "scene.render.views.new('third');"
#: Three views, two of which are rendered; “left” is not among them.
FREE = (
    "r = scene.render; r.use_multiview = True; r.views_format = 'MULTIVIEW';"
    "scene.camera.name = 'Cam.near'; add_camera(scene, 'Cam.far', 2.0);"
    "r.views.remove(r.views['left']); r.views['right'].use = False;"
    "near = r.views.new('near'); near.camera_suffix, near.file_suffix = '.near', '_n';"
    "far = r.views.new('far'); far.camera_suffix, far.file_suffix = '.far', '-far eye';"
)
SCENES = {
    "off-axis": (STEREO.format(mode="OFFAXIS", pivot="CENTER") + LEFT_OVER, {"denoise": True, "layers": 2}),
    "toe-in": (STEREO.format(mode="TOE", pivot="LEFT"), {"compositor": "glare"}),
    # Files of older Blenders ask for all passes of an EXR in one part.
    "parallel": (
        STEREO.format(mode="PARALLEL", pivot="RIGHT") + "r.image_settings.use_exr_interleave = True",
        {},
    ),
    "free": (FREE, {"denoise": True, "compositor": "nested", "layers": 2}),
}
#: What the output panel offers for views.
OUTPUTS = {
    "individual": "save_as(scene, 'PNG'); scene.render.image_settings.views_format = 'INDIVIDUAL'",
    "anaglyph": "save_as(scene, 'PNG'); i = scene.render.image_settings; i.views_format = 'STEREO_3D';"
    "i.stereo_3d_format.display_mode = 'ANAGLYPH'",
    "side by side": "save_as(scene, 'OPEN_EXR'); i = scene.render.image_settings;"
    "i.views_format = 'STEREO_3D'; i.stereo_3d_format.display_mode = 'SIDEBYSIDE'",
    "one file": "save_as(scene, 'OPEN_EXR_MULTILAYER');"
    "scene.render.image_settings.views_format = 'MULTIVIEW'",
    "multilayer": "save_as(scene, 'OPEN_EXR_MULTILAYER');"
    "scene.render.image_settings.views_format = 'INDIVIDUAL'",
}


@pytest.mark.parametrize("name", SCENES)
def test_views_in_pieces_are_the_views_whole(build: Build, tmp_path: Path, name: str) -> None:
    extra, options = SCENES[name]
    outputs = [each for each in OUTPUTS if name != "free" or each not in ("anaglyph", "side by side")]
    # Denoising takes most of the time, and does not hang on the output: one is enough.
    noisy = {each: "" if each == "one file" else "; scene.cycles.use_denoising = False" for each in outputs}
    variants = {each: OUTPUTS[each] + noisy[each] for each in outputs}
    path = build(extra=extra, variants=variants, objects=3, **options)
    with RenderProcess(tmp_path / "first.log") as child:
        child.done(Open(str(path)))
        report = child.done(Inspect()).report
        assert report is not None
        assert report["blocks_cutting"] == []
        assert report["views"] == (["_n", "-far eye"] if name == "free" else ["_L", "_R"])
        expected = whole(child, tmp_path / "merged.exr")
        views = ("near", "far") if name == "free" else ("left", "right")
        assert {f"ViewLayer.Combined.{view}.R" for view in views} <= set(expected)
        assert len({expected[f"ViewLayer.Combined.{view}.R"].tobytes() for view in views}) == 2
        assert same_bits(assembled(child, "2x2", tmp_path), expected) == []
        for each in outputs:
            direct(child, tmp_path / "direct" / each, scene=each)
    with RenderProcess(tmp_path / "second.log") as child:
        child.done(Open(str(path)))
        for each in outputs:
            finish(child, tmp_path / "merged.exr", tmp_path / "finish" / each, scene=each)
    names = sorted(path.name for path in (tmp_path / "direct" / "individual").iterdir())
    suffixes = ("_n", "-far eye") if name == "free" else ("_L", "_R")
    assert names == sorted(f"shot_0003{suffix}.png" for suffix in suffixes)
    for each in outputs:
        assert same_files(tmp_path / "direct" / each, tmp_path / "finish" / each) == []


def test_names_that_blender_would_cut_short_keep_a_frame_whole(build: Build, tmp_path: Path) -> None:
    """Of a channel's whole name Blender looks for 63 bytes, and leaves black what it does not find."""
    layer, longest = "scene.view_layers[0].name = 'é' * 20 + 'L' * {more}", len(".CryptoMaterial00.r")
    multi = "save_as(scene, 'OPEN_EXR_MULTILAYER')"
    variants = {name: layer.format(more=23 - longest + more) for name, more in (("fits", 0), ("long", 1))}
    path = build(extra=multi, variants=variants, objects=1, width=24, height=16)
    merged, size = tmp_path / "merged.exr", Size(24, 16)
    with RenderProcess(tmp_path / "child.log") as child:
        child.done(Open(str(path)))
        reports = [child.done(Inspect(scene=name)).report or {} for name in variants]
        assert [[each["code"] for each in report["blocks_cutting"]] for report in reports] == [
            [],
            ["long-names"],
        ]
        whole(child, merged, scene="fits", size=size)
        direct(child, tmp_path / "direct", scene="fits")
        finish(child, merged, tmp_path / "finish", scene="fits")
        assert same_files(tmp_path / "direct", tmp_path / "finish") == []
        whole(child, merged, scene="long", size=size)
        request = FinishFrame(look(scene="long"), str(merged), str(tmp_path / "out"), "p.jpg")
        assert "longer than Blender reads back" in child.failed(request).what


def test_a_merged_frame_that_lacks_a_view_is_refused(build: Build, tmp_path: Path) -> None:
    path = build(extra=FREE, variants={"more": "scene.render.views['right'].use = True"}, objects=1)
    with RenderProcess(tmp_path / "child.log") as child:
        child.done(Open(str(path)))
        whole(child, tmp_path / "merged.exr")
        failed = child.failed(
            FinishFrame(look(scene="more"), str(tmp_path / "merged.exr"), str(tmp_path / "out"), "p.jpg")
        )
    assert failed.cause == "bad-result"
    assert "no pass Combined.right" in failed.what
