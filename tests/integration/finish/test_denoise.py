"""Denoising after the merge is denoising in the render: every setting, every pass that Cycles treats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from farm.domain.tiles import Box, Size, TileGrid
from tests.integration.blender.driver import read_exr, same_bits
from tests.integration.finish.ways import Pieces, Plain

SIZE = Size(61, 37)
_SCENE = """
bpy.ops.mesh.primitive_plane_add(size=14, location=(0, 0, -1.2))
bpy.context.object.is_shadow_catcher = True
for layer in scene.view_layers:
    layer.cycles.use_pass_shadow_catcher = layer.cycles.denoising_store_passes = True
scene.view_layers[1].cycles.use_denoising = False
scene.view_layers[1].cycles.denoising_store_passes = False
scene.cycles.adaptive_threshold, scene.cycles.adaptive_min_samples = 0.1, 4
"""
_NAMES = (
    "samples",
    "use_adaptive_sampling",
    "film_exposure",
    "denoising_prefilter",
    "denoising_quality",
    "denoising_input_passes",
)
ALL = "RGB_ALBEDO_NORMAL"
EXACT = {
    "accurate": (4, False, 1.0, "ACCURATE", "HIGH", ALL),
    "one sample": (1, False, 1.0, "ACCURATE", "HIGH", ALL),
    "fast prefilter, balanced": (4, False, 1.0, "FAST", "BALANCED", ALL),
    "no prefilter, fast": (4, False, 1.0, "NONE", "FAST", ALL),
    "albedo alone": (4, False, 1.0, "ACCURATE", "HIGH", "RGB_ALBEDO"),
    "colour alone": (4, False, 1.0, "ACCURATE", "HIGH", "RGB"),
    "exposure 4": (8, False, 4.0, "ACCURATE", "HIGH", ALL),
    "adaptive 7": (7, True, 1.0, "ACCURATE", "HIGH", ALL),
    "adaptive 12, no prefilter": (12, True, 1.0, "NONE", "BALANCED", ALL),
    "adaptive 100": (100, True, 1.0, "ACCURATE", "FAST", ALL),
    "adaptive 60, counted": (60, True, 1.0, "ACCURATE", "HIGH", ALL),
    "adaptive 10, exposure 2": (10, True, 2.0, "FAST", "HIGH", ALL),
}
ROUNDED = {
    "7 samples": (7, False, 1.0, "ACCURATE", "HIGH", ALL),
    "12 samples": (12, False, 1.0, "ACCURATE", "HIGH", ALL),
    "exposure 1.7": (8, False, 1.7, "ACCURATE", "HIGH", ALL),
    "adaptive 12, exposure 1.7": (12, True, 1.7, "ACCURATE", "HIGH", ALL),
}

Both = dict[str, tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]


@pytest.fixture(scope="module")
def both(build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Passes by case: Blender's own, and those that were denoised after the merge."""
    folder = tmp_path_factory.mktemp("denoise")
    variants = {
        name: f"scene.render.filepath = '//{name}/a_'\n"
        + f"scene.view_layers[0].cycles.pass_debug_sample_count = {'counted' in name}\n"
        + "".join(f"scene.cycles.{key} = {value!r}\n" for key, value in zip(_NAMES, values, strict=True))
        for name, values in (EXACT | ROUNDED).items()
    }
    scene = build(
        width=SIZE.width,
        height=SIZE.height,
        objects=3,
        layers=2,
        denoise=True,
        file_format="OPEN_EXR_MULTILAYER",
        extra=_SCENE,
        variants=variants,
    )
    found: Both = {}
    with Plain(scene, folder / "plain") as plain, Pieces(scene, folder / "pieces") as pieces:
        for name, (_, adaptive, *_rest) in (EXACT | ROUNDED).items():
            (direct,) = plain.render(name)
            merged = pieces.merged(TileGrid(3, 2), SIZE, scene=name, overlap=8 if adaptive else 0)
            (output,) = pieces.finish(merged, name, name).outputs
            found[name] = read_exr(direct), read_exr(pieces.folder / name / output)
    return found


@pytest.mark.parametrize("name", EXACT)
def test_every_pass_has_the_bits_of_a_direct_render(both: Both, name: str) -> None:
    direct, finished = both[name]
    noisy, denoised = (direct[f"ViewLayer.{kind}.R"] for kind in ("Noisy Shadow Catcher", "Shadow Catcher"))
    assert not np.array_equal(noisy, denoised)
    assert "Layer 1.Shadow Catcher.R" in direct
    assert "Layer 1.Noisy Image.R" not in direct
    assert same_bits(direct, finished) == []


def test_adaptive_counts_are_shares_of_the_sample_at_which_the_frame_ended(both: Both) -> None:
    direct, finished = (found["ViewLayer.Debug Sample Count.X"] for found in both["adaptive 60, counted"])
    assert direct.tobytes() == finished.tobytes()
    assert 0.0 < float(direct.min()) < float(direct.max()) == 1.0


@pytest.mark.parametrize("name", ROUNDED)
def test_a_sum_that_lost_its_last_bit_is_denoised_within_a_few_millionths(both: Both, name: str) -> None:
    direct, finished = both[name]
    assert same_bits(direct, finished) == [f"ViewLayer.Combined.{channel}" for channel in "BGR"]
    brightest = max(float(np.abs(direct[f"ViewLayer.Combined.{channel}"]).max()) for channel in "RGB")
    for channel in "RGB":
        first, second = (found[f"ViewLayer.Combined.{channel}"] for found in both[name])
        assert float(np.abs(first - second).max()) < 2e-5 * brightest


SHAPES = {
    "two views": "scene.render.use_multiview = True;"
    "scene.render.image_settings.views_format = 'MULTIVIEW'; scene.cycles.use_adaptive_sampling = True",
    "views by name": "r = scene.render; r.use_multiview = True; r.views_format = 'MULTIVIEW';"
    "r.image_settings.views_format = 'MULTIVIEW'; scene.camera.name = 'Camera_L';"
    "add_camera(scene, 'Camera_R', 0.3)",
    "cropped region": "scene.render.use_border = scene.render.use_crop_to_border = True",
    "region": "scene.render.use_border = True",
    # Blender's own pictures have 4 pixels a side at least.
    "region of 3 columns": "scene.render.use_border = scene.render.use_crop_to_border = True;"
    "r.border_min_x, r.border_max_x = 30.5 / 61, 33.5 / 61",
}
AREAS = {"region of 3 columns": Box(30, 12, 3, 18), "region": Box(15, 12, 30, 18)}


@pytest.mark.parametrize("name", SHAPES)
def test_views_and_regions_are_denoised_as_in_the_render(
    build: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    region = "r = scene.render; r.border_min_x, r.border_max_x = 0.25, 0.75;"
    region += "r.border_min_y, r.border_max_y = 0.2, 0.7;"  # pixels 7 to 25, y up
    scene = build(
        width=SIZE.width,
        height=SIZE.height,
        objects=3,
        denoise=True,
        file_format="OPEN_EXR_MULTILAYER",
        output="//shot/a_",
        extra=region + SHAPES[name],
    )
    with Plain(scene, tmp_path / "plain") as plain, Pieces(scene, tmp_path / "pieces") as pieces:
        (direct,) = plain.render("Scene")
        area = AREAS.get(name.removeprefix("cropped "), SIZE.box)
        merged = pieces.merged(TileGrid(2, 2), SIZE, area=area, overlap=2)
        (output,) = pieces.finish(merged, "out").outputs
        passes = read_exr(direct)
        assert same_bits(passes, read_exr(pieces.folder / "out" / output)) == []
    noisy = [key for key in passes if "Noisy Image" in key]
    assert len(noisy) == (8 if "views" in name else 4)
    assert all(np.ptp(passes[key]) > 0 for key in noisy if not key.endswith("A"))
