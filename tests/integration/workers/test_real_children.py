"""The worker with the real Blender and the real imaging process, locked in where that works."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR
import psutil
import pytest
from PIL import Image

from farm.domain.plan import Plan, SampleRange
from farm.domain.scene import SceneReport
from farm.domain.work import PieceRef
from farm.storage import MemoryStorage
from tests.integration.workers.conftest import Bench
from tests.processes import family

WIDTH, HEIGHT, SEED = 96, 54, 7
WHOLE = Plan(frames="1-2", width=WIDTH, height=HEIGHT, reason="test")
TILED = WHOLE.model_copy(update={"grid": "2x2", "overlap": 2})

_BUILD = """
import sys, bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
bpy.ops.mesh.primitive_monkey_add(); bpy.ops.object.modifier_add(type="SUBSURF")
bpy.ops.object.light_add(type="SUN", rotation=(0.6, 0.2, 0)); bpy.context.object.data.energy = 3
bpy.ops.object.camera_add(location=(0, -5, 1), rotation=(1.4, 0, 0)); scene.camera = bpy.context.object
scene.render.engine = "CYCLES"
scene.cycles.samples = 16
scene.cycles.seed = 7
scene.cycles.use_adaptive_sampling = False
scene.cycles.use_denoising = True
scene.view_layers[0].cycles.use_pass_shadow_catcher = True
scene.render.resolution_x, scene.render.resolution_y = 96, 54
scene.render.image_settings.file_format = "PNG"
scene.render.filepath = "//shot_####"
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
"""


@pytest.fixture(scope="module")
def blend(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("scene") / "monkey.blend"
    subprocess.run([sys.executable, "-P", "-c", _BUILD, str(path)], check=True, capture_output=True)
    return path.read_bytes()


@pytest.fixture
async def real(make_bench: Callable[..., Awaitable[Bench]]) -> Bench:
    return await make_bench(modules=None, sandbox=True, threads=2)


def picture(storage: MemoryStorage, key: str, path: Path) -> dict[str, np.ndarray]:
    """Channels of a stored EXR by part and name, each (height, width[, channels]), y down."""
    path.write_bytes(b"".join(storage.stream(key)))
    parts = OpenEXR.File(str(path)).parts
    return {
        f"{part.name()}/{name}": channel.pixels for part in parts for name, channel in part.channels.items()
    }


def preview(storage: MemoryStorage, key: str) -> np.ndarray:
    with Image.open(io.BytesIO(b"".join(storage.stream(key)))) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def check_previews(real: Bench, whole: dict[str, Any], pieces: tuple[PieceRef, ...]) -> None:
    """The preview of each tile is its core as the whole frame's preview shows it, overlap left out."""
    [key] = [file["key"] for file in whole["files"] if file["role"] == "preview"]
    frame = preview(real.storage, key)
    for piece in pieces:
        core = TILED.piece(piece.tile).tile.core
        shown = preview(real.storage, piece.key.replace("piece.exr", "preview.jpg"))
        expected = frame[core.y : core.y + core.height, core.x : core.x + core.width]
        assert shown.shape == expected.shape
        assert np.abs(shown - expected).mean() < 4


async def test_a_frame_cut_in_tiles_is_the_frame_rendered_whole(
    real: Bench, blend: bytes, tmp_path: Path
) -> None:
    scene = real.scene(blend)
    info = await real.worker.info()
    report = SceneReport.model_validate((await real.result("job/inspect", scene, plan=None))["report"])
    assert report.size().width == WIDTH
    assert {"Noisy Image", "Noisy Shadow Catcher"} < set(report.layers[0].passes)  # which pieces have not

    whole = await real.result("job/1/whole", scene, plan=WHOLE, report=report, keep_exr=True)
    assert whole["render_class"] == info["render_class"]
    pieces = await real.pieces(scene, plan=TILED, report=report)
    check_previews(real, whole, pieces)
    finish = await real.result("job/1/finish", scene, plan=TILED, report=report, pieces=pieces, keep_exr=True)
    names = [
        {file["name"]: file["role"] for file in result["files"] if file["role"] != "log"}
        for result in (whole, finish)
    ]
    assert names[0] == names[1]
    assert names[0]["shot_0001.png"] == "output"

    keys = [
        next(file["key"] for file in result["files"] if file["role"] == "exr") for result in (whole, finish)
    ]
    first, second = (picture(real.storage, key, tmp_path / "a.exr") for key in keys)
    assert first.keys() == second.keys()
    for name, pixels in first.items():
        assert np.array_equal(pixels, second[name], equal_nan=True), name
    assert any(pixels.max() > 0.01 for pixels in first.values())


async def test_a_result_says_with_what_it_was_made_and_where_its_time_went(real: Bench, blend: bytes) -> None:
    ranges = (SampleRange(first=0, count=2, total=4), SampleRange(first=0, count=4, total=4, seed=9))
    sampled = WHOLE.model_copy(update={"ranges": ranges})
    scene = real.scene(blend)
    first = await real.result("job/1/tile-0", scene, plan=sampled, samples=4)
    second = await real.result("job/1/tile-1", scene, plan=sampled, samples=4)
    whole = await real.result("job/1/whole", scene, plan=WHOLE, samples=4)
    assert [result["seed"] for result in (first, second, whole)] == [SEED, SEED + 9, SEED]
    assert {result["driver"] for result in (first, second, whole)} == {""}
    assert first["seconds"]["load"] > 0.5, "Blender and the imaging process start, the scene opens"
    assert (second["seconds"]["load"], whole["seconds"]["load"]) == (pytest.approx(0, abs=0.05),) * 2
    for result in (first, second, whole):
        *parts, total = result["seconds"].values()
        assert 0 < sum(parts) <= total
        assert result["seconds"]["render"] > 0


async def test_a_blender_killed_in_the_middle_of_a_tile_costs_one_attempt(real: Bench, blend: bytes) -> None:
    scene = real.scene(blend)
    before = await real.result("job/1/tile-0", scene, plan=TILED)
    await real.worker.start(real.order("job/1/tile-1", scene, plan=TILED, samples=100_000))
    await real.progress("rendering")
    for pid in family():
        process = psutil.Process(pid)
        if process.name().startswith("python"):
            process.kill()
    failure = (await real.end())["failure"]
    assert failure["cause"] == "crash"
    assert "SIGKILL" in failure["what"]
    after = await real.result("job/1/tile-0", scene, plan=TILED)
    assert after["render_class"] == before["render_class"]
    assert family()


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "empty"), (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "LFS")],
)
async def test_what_is_no_blend_file_is_told_by_blender_in_words(
    real: Bench, data: bytes, words: str
) -> None:
    failure = await real.failure("job/inspect", real.scene(data), plan=None)
    assert failure["cause"] == "bad-scene"
    assert words in failure["what"]
    assert failure["cure"]


async def test_closing_while_blender_renders_leaves_nothing(real: Bench, blend: bytes) -> None:
    await real.worker.start(real.order("job/1/whole", real.scene(blend), plan=WHOLE, samples=100_000))
    await real.progress("rendering")
    assert family()
    await real.worker.close()
    assert family() == set()
    assert hashlib.sha256(blend).hexdigest() in {path.name for path in real.worker._home.blobs.glob("??/*")}
