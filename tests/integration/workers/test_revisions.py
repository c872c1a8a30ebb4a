"""A frame whose plan is revised while it is rendered is the frame rendered whole, with the real Blender."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from farm.domain.job import RenderSettings
from farm.domain.plan import Plan
from farm.domain.scene import SceneReport
from farm.domain.work import PieceRef
from farm.planning.area import recut_of
from tests.integration.workers.conftest import Bench
from tests.integration.workers.test_real_children import picture

WHOLE = Plan(frames="1-2", width=192, height=108, reason="test")

_BUILD = """
import sys, bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
bpy.ops.mesh.primitive_monkey_add(); bpy.ops.object.modifier_add(type="SUBSURF")
bpy.ops.mesh.primitive_plane_add(size=9, location=(0, 0, -1))
bpy.ops.object.light_add(type="AREA", location=(2, -3, 5)); bpy.context.object.data.energy = 400
bpy.ops.object.camera_add(location=(0, -5, 1), rotation=(1.4, 0, 0)); scene.camera = bpy.context.object
scene.camera.data.dof.use_dof = True
scene.camera.data.dof.focus_distance = 4.0
scene.camera.data.dof.aperture_fstop = 0.8
scene.render.engine = "CYCLES"
scene.cycles.samples = 48
scene.cycles.use_adaptive_sampling = True
scene.cycles.adaptive_threshold = 0.1
scene.cycles.adaptive_min_samples = 4
scene.cycles.use_denoising = True
layer = scene.view_layers[0]
for name in ("use_pass_z", "use_pass_normal", "use_pass_diffuse_direct", "use_pass_cryptomatte_object"):
    setattr(layer, name, True)
scene.render.resolution_x, scene.render.resolution_y = 192, 108
scene.render.image_settings.file_format = "PNG"
scene.render.filepath = "//shot_####"
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
"""


@pytest.fixture(scope="module")
def blend(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("scene") / "revised.blend"
    subprocess.run([sys.executable, "-P", "-c", _BUILD, str(path)], check=True, capture_output=True)
    return path.read_bytes()


@pytest.fixture
async def real(make_bench: Callable[..., Awaitable[Bench]]) -> Bench:
    return await make_bench(modules=None, sandbox=True, threads=2)


async def test_a_frame_of_pieces_of_two_revisions_is_the_frame_rendered_whole(
    real: Bench, blend: bytes, tmp_path: Path
) -> None:
    """Whole in the plan, then cut 2x1, and one of these again 1x2: what is merged is the cover."""
    scene = real.scene(blend)
    report = SceneReport.model_validate((await real.result("job/inspect", scene, plan=None))["report"])
    assert report.adaptive
    settings = RenderSettings()
    first = recut_of(None, 2, WHOLE, settings, report)
    assert first is not None
    second = recut_of(1, 2, WHOLE.recut((first,)), settings, report)
    assert second is not None
    assert (first.grid, second.of, second.grid) == ("2x1", 1, "1x2")
    assert min(first.overlap, second.overlap) == 3  # rounds of adaptive sampling
    plan = WHOLE.recut((first, second))

    whole = await real.result("job/1/whole", scene, plan=WHOLE, report=report, keep_exr=True)
    pieces: dict[int, PieceRef] = {}
    for tile in range(plan.pieces):
        result = await real.result(f"job/1/tile-{tile}", scene, plan=plan, report=report)
        [file] = [file for file in result["files"] if file["role"] == "piece"]
        pieces[tile] = PieceRef(
            tile=tile, key=file["key"], blob=file["blob"], render_class=result["render_class"]
        )
    assert plan.cover({0, 2, 3}) == (0, 2, 3)
    for chosen in ((0, 1), (0, 2, 3)):
        finish = await real.result(
            "job/1/finish",
            scene,
            plan=plan,
            report=report,
            pieces=tuple(pieces[tile] for tile in chosen),
            keep_exr=True,
        )
        _same(real, whole, finish, tmp_path)

    for wrong in ((0, 2), (0, 1, 2), (2, 3)):
        failure = await real.failure(
            "job/1/finish", scene, plan=plan, report=report, pieces=tuple(pieces[tile] for tile in wrong)
        )
        assert failure["cause"] == "bad-result"
        assert failure["what"].startswith("Frame 1 needs pieces with each of its pixels in one of them;")


def _same(real: Bench, whole: dict[str, object], finish: dict[str, object], tmp_path: Path) -> None:
    """Every pass, bit for bit, and the artist's own file."""
    files = [
        {file["name"]: file for file in result["files"] if file["role"] in ("output", "exr")}  # type: ignore[attr-defined]
        for result in (whole, finish)
    ]
    assert files[0].keys() == files[1].keys() == {"shot_0001.png", "exr/0001.exr"}
    first, second = (picture(real.storage, each["exr/0001.exr"]["key"], tmp_path / "a.exr") for each in files)
    assert first.keys() == second.keys()
    for name, pixels in first.items():
        assert np.array_equal(pixels, second[name], equal_nan=True), name
    assert any(pixels.max() > 0.01 for pixels in first.values())
    one, other = (_png(b"".join(real.storage.stream(each["shot_0001.png"]["key"]))) for each in files)
    assert np.array_equal(one, other)


def _png(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)
