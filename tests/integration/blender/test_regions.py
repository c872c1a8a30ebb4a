"""Render regions: pieces cover them alone, and a finished frame has them where a direct render has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from farm.domain.scene import SceneReport
from farm.domain.tiles import Border, Box
from tests.integration.blender.cut import assembled, direct, finish, same_files, tile
from tests.integration.blender.driver import RenderProcess, look, read_exr, same_bits
from workers.protocol import FinishFrame, Inspect, Open

Build = Callable[..., Path]

#: Edges that truncation, percentage and float32 move by a pixel if they are not taken as Blender takes them.
REGION = (
    "r = scene.render; r.use_border = True; r.border_min_x, r.border_max_x = 0.3, 0.7;"
    "r.border_min_y, r.border_max_y = 0.11, 0.8; r.use_crop_to_border = {crop};"
    "r.resolution_percentage = {percentage};"
)
SCENES = {
    "cropped": (REGION.format(crop=True, percentage=100), {"denoise": True, "compositor": "glare"}),
    "in a full frame": (REGION.format(crop=False, percentage=100), {"denoise": True, "compositor": "glare"}),
    "at 77 %": (REGION.format(crop=False, percentage=77), {"layers": 2, "samples": 2}),
    "stereo": (
        REGION.format(crop=True, percentage=50) + "r.use_multiview = True",
        {"denoise": True, "layers": 2},
    ),
}
OUTPUTS = {
    "PNG": "save_as(scene, 'PNG'); scene.render.image_settings.color_mode = 'RGBA'",
    "EXR": "save_as(scene, 'OPEN_EXR')",
    "multilayer": "save_as(scene, 'OPEN_EXR_MULTILAYER')",
}


@pytest.mark.parametrize("name", SCENES)
def test_a_region_in_pieces_is_the_region_whole(build: Build, tmp_path: Path, name: str) -> None:
    extra, options = SCENES[name]
    path = build(extra=extra, variants=OUTPUTS, objects=3, **options)
    with RenderProcess(tmp_path / "first.log") as child:
        child.done(Open(str(path)))
        report = SceneReport.model_validate(child.done(Inspect()).report)
        assert report.border is not None
        assert report.blocks_cutting == ()
        size = report.size()
        area = Box.of_border(Border(*report.border), size)
        tile(child, area, tmp_path / "merged.exr", size=size)
        merged = read_exr(tmp_path / "merged.exr")
        assert same_bits(assembled(child, "2x3", tmp_path, area=area, size=size), merged) == []
        for each in OUTPUTS:
            direct(child, tmp_path / "direct" / each, scene=each)
    with RenderProcess(tmp_path / "second.log") as child:
        child.done(Open(str(path)))
        for each in OUTPUTS:
            finish(child, tmp_path / "merged.exr", tmp_path / "finish" / each, scene=each)
    for each in OUTPUTS:
        assert same_files(tmp_path / "direct" / each, tmp_path / "finish" / each) == []
    written = next((tmp_path / "direct" / "multilayer").iterdir())
    channel = next(iter(read_exr(written).values()))
    assert channel.shape == ((area.height, area.width) if report.crops else (size.height, size.width))


def test_a_merged_frame_of_another_region_is_refused(build: Build, tmp_path: Path) -> None:
    with RenderProcess(tmp_path / "child.log") as child:
        child.done(Open(str(build(extra=REGION.format(crop=True, percentage=100), objects=1))))
        tile(child, Box(48, 18, 63, 63), tmp_path / "merged.exr")
        failed = child.failed(
            FinishFrame(look(), str(tmp_path / "merged.exr"), str(tmp_path / "out"), "p.jpg")
        )
    assert failed.cause == "bad-result"
    assert "63×63 pixels, the scene renders 64×62" in failed.what
