"""A proof through the worker, with real processes: exact for an honest frame, and naming what is not."""

from __future__ import annotations

import asyncio
import hashlib
import io
import struct
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR
import pytest
from PIL import Image

from farm.domain.plan import Plan
from farm.domain.scene import Blob, SceneManifest, SceneReport
from farm.domain.work import Claim, Proof, Role, StoredFile
from farm.storage import MemoryStorage
from tests.integration.workers.conftest import Bench
from workers.worker import Worker

WIDTH, HEIGHT = 80, 45
PIXELS = WIDTH * HEIGHT
PLAN = Plan(frames="1-2", width=WIDTH, height=HEIGHT, reason="test")
FRAME = "shot_0002.png"

_BUILD = """
import sys, bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
bpy.ops.mesh.primitive_monkey_add()
bpy.ops.object.light_add(type="SUN", rotation=(0.6, 0.2, 0)); bpy.context.object.data.energy = 3
bpy.ops.object.camera_add(location=(0, -5, 1), rotation=(1.4, 0, 0)); scene.camera = bpy.context.object
scene.render.engine = "CYCLES"
scene.cycles.samples, scene.cycles.use_adaptive_sampling = 4, False
scene.cycles.use_denoising = True
scene.view_layers[0].use_pass_z = scene.view_layers[0].use_pass_cryptomatte_object = True
scene.render.resolution_x, scene.render.resolution_y = 80, 45
scene.render.image_settings.file_format = "PNG"
scene.render.filepath = "//renders/shot_####"
tree = scene.compositing_node_group = bpy.data.node_groups.new("Composite", "CompositorNodeTree")
tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
layers = tree.nodes.new("CompositorNodeRLayers")
tree.links.new(layers.outputs["Image"], tree.nodes.new("NodeGroupOutput").inputs[0])
output = tree.nodes.new("CompositorNodeOutputFile")
output.directory, output.file_name = "//depth/", "z_"
output.format.media_type, output.format.file_format = "IMAGE", "OPEN_EXR"
output.file_output_items.new("FLOAT", "Depth")
tree.links.new(layers.outputs["Depth"], output.inputs["Depth"])
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1])
"""


LAYER = ("Combined", "Depth", "CryptoObject00", "CryptoObject01", "CryptoObject02", "Noisy Image")
PASSES = {"Composite.Combined", *(f"ViewLayer.{name}" for name in LAYER)}


@dataclass
class Made:
    """A frame as the farm rendered it, for tests to tamper with; nothing of it is changed."""

    blend: bytes
    files: dict[str, bytes]  # by name
    claim: Claim  # with all that was kept

    def claims(self, storage: MemoryStorage, files: dict[str, bytes], **changes: Any) -> Claim:
        """The claim for ``files``, which are stored; the passes are the one below ``exr/``."""
        stored = []
        for name, data in files.items():
            blob = Blob(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
            key = f"jobs/job/2/{name}"
            storage.put_stream(key, [data])
            role = Role.EXR if name.startswith("exr/") else Role.OUTPUT
            stored.append(StoredFile(role=role, name=name, key=key, blob=blob))
        kept = [file for file in stored if file.role is Role.EXR]
        outputs = tuple(file for file in stored if file.role is Role.OUTPUT)
        update = {"outputs": outputs, "exr": kept[0] if kept else None, "digests": {}, **changes}
        return self.claim.model_copy(update=update)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One frame, rendered whole, its passes kept."""
    path = tmp_path_factory.mktemp("scene") / "monkey.blend"
    subprocess.run([sys.executable, "-P", "-c", _BUILD, str(path)], check=True, capture_output=True)
    blend, storage = path.read_bytes(), MemoryStorage()

    async def render() -> dict[str, Any]:
        config = {"worker_id": "w0", "scratch": str(tmp_path_factory.mktemp("worker")), "threads": 2}
        worker = Worker(config, storage=storage)
        try:
            bench = Bench(worker, storage)
            return await bench.result("job/2/whole", bench.scene(blend), plan=PLAN, keep_exr=True)
        finally:
            await worker.close()

    result = asyncio.run(render())
    stored = [StoredFile.model_validate(file) for file in result["files"]]
    wanted = [file for file in stored if file.role in (Role.OUTPUT, Role.EXR)]
    files = {file.name: b"".join(storage.stream(file.key)) for file in wanted}
    claim = Claim(job_id="job", plan=PLAN, render_class=result["render_class"], outputs=())
    return Made(blend, files, claim)


@pytest.fixture
async def real(make_bench: Callable[..., Awaitable[Bench]]) -> Bench:
    return await make_bench(modules=None, sandbox=True, threads=2)


async def verified(bench: Bench, scene: SceneManifest, claim: Claim, **more: Any) -> dict[str, Any]:
    """The report that ends the verification of frame 2."""
    order = bench.order("proof/2/verify", scene, plan=PLAN, **more)
    await bench.worker.start(order | {"claim": claim.model_dump(mode="json")})
    return await bench.end(120)


async def proof_of(bench: Bench, scene: SceneManifest, claim: Claim, **more: Any) -> Proof:
    report = await verified(bench, scene, claim, **more)
    assert report["result"] is not None, report["failure"]
    return Proof.model_validate(report["result"]["proof"])


def passes_of(data: bytes, folder: Path) -> OpenEXR.File:
    path = folder / "kept.exr"
    path.write_bytes(data)
    return OpenEXR.File(str(path), separate_channels=True)


def saved(file: OpenEXR.File, folder: Path) -> bytes:
    path = folder / "changed.exr"
    file.write(str(path))
    return path.read_bytes()


def digests_of(file: OpenEXR.File) -> dict[str, str]:
    """As a merged frame's are: before denoising."""
    found = {f"ViewLayer.{name}": digest_of(file, f"ViewLayer.{name}") for name in LAYER}
    found["ViewLayer.Combined"] = found.pop("ViewLayer.Noisy Image")
    return found


def digest_of(file: OpenEXR.File, part: str) -> str:
    [found] = [other for other in file.parts if other.name() == part]
    pixels = [found.channels[name].pixels.astype("<f4").tobytes() for name in sorted(found.channels)]
    return hashlib.sha256(b"".join(pixels)).hexdigest()


def repainted(png: bytes, change: Callable[[np.ndarray], None]) -> bytes:
    """A PNG with other pixels and the same texts."""
    with Image.open(io.BytesIO(png)) as image:
        pixels, texts = np.array(image), dict(image.text)
    change(pixels)
    start = png.index(b"IDAT") - 4  # of the first chunk of pixels
    end = png.index(b"IEND") - 4
    other = io.BytesIO()
    Image.fromarray(pixels).save(other, "PNG")
    new = other.getvalue()
    assert texts
    return png[:start] + new[new.index(b"IDAT") - 4 : new.index(b"IEND") - 4] + png[end:]


async def test_an_honest_frame_is_proved_pass_by_pass_and_file_by_file(
    real: Bench, made: Made, tmp_path: Path
) -> None:
    kept = passes_of(next(data for name, data in made.files.items() if name.startswith("exr/")), tmp_path)
    claim = made.claims(real.storage, made.files, digests=digests_of(kept))

    proof = await proof_of(real, real.scene(made.blend), claim)

    assert proof.exact
    assert (proof.frame, proof.tolerance) == (2, 0.0)
    assert proof.render_class == made.claim.render_class
    assert proof.seconds > 0
    rows = {(row.kind, row.name, row.note): row for row in proof.rows}
    assert set(rows) == {
        *(("pass", name, "") for name in PASSES),
        ("pass", "ViewLayer.Combined", "before denoising, by its digest"),
        ("metadata", "metadata", ""),
        ("output", FRAME, ""),
        ("output", "depth/z_Depth0002.exr", ""),
    }
    assert all(row.differing == 0 and row.largest == 0.0 for row in proof.rows)
    assert all(row.pixels == PIXELS for row in proof.rows if row.kind != "metadata")


async def test_a_proof_names_exactly_what_is_not_the_same(real: Bench, made: Made, tmp_path: Path) -> None:
    """A value, a pass less, a pass more, metadata, a digest, a file less, a file more: all in one frame."""
    [passes] = [name for name in made.files if name.startswith("exr/")]
    kept = passes_of(made.files[passes], tmp_path)
    digests = digests_of(kept) | {"ViewLayer.CryptoObject01": "0" * 64}
    depth = next(part for part in kept.parts if part.name() == "ViewLayer.Depth")
    values = depth.channels["ViewLayer.Depth.Z"].pixels
    hit = tuple(np.argwhere(values < 100)[0])
    values[hit] += np.float32(0.5)
    kept.parts[0].header["Camera"] = "Somebody else's"
    parts = [part for part in kept.parts if part.name() != "ViewLayer.CryptoObject02"]
    foreign = OpenEXR.Part(
        {"type": OpenEXR.scanlineimage}, {"ViewLayer.AO.R": np.zeros((HEIGHT, WIDTH), np.float32)}, "AO"
    )

    def flip(pixels: np.ndarray) -> None:
        pixels[40, 3, 1] ^= 8

    files = {
        FRAME: repainted(made.files[FRAME], flip),
        "extra.png": made.files[FRAME],
        passes: saved(OpenEXR.File([*parts, foreign]), tmp_path),
    }
    claim = made.claims(real.storage, files, digests=digests)
    proof = await proof_of(real, real.scene(made.blend), claim)

    assert not proof.exact
    assert [(row.kind, row.name, row.differing, row.note) for row in proof.rows if not row.same] == [
        ("pass", "ViewLayer.Depth", 1, ""),
        ("pass", "ViewLayer.CryptoObject02", None, "the farm's frame has no such pass"),
        ("pass", "ViewLayer.AO", None, "Blender renders no such pass"),
        ("metadata", "metadata", None, "Camera: “Somebody else's”, reference “Camera”"),
        ("pass", "ViewLayer.CryptoObject01", None, "by its digest"),
        ("output", "depth/z_Depth0002.exr", None, "the farm wrote no such file"),
        ("output", "extra.png", None, "Blender writes no such file"),
        ("output", FRAME, 1, ""),
    ]
    largest = {row.name: row.largest for row in proof.rows if row.differing}
    assert largest == {"ViewLayer.Depth": 0.5, FRAME: pytest.approx(8 / 255)}


@pytest.mark.parametrize("keep_exr", [False, True])
async def test_a_frame_cut_in_tiles_and_finished_is_proved(real: Bench, made: Made, keep_exr: bool) -> None:
    """With its passes kept, and with no more left of them than digests."""
    scene = real.scene(made.blend)
    report = SceneReport.model_validate((await real.result("job/inspect", scene, plan=None))["report"])
    plan = PLAN.model_copy(update={"grid": "2x2", "overlap": 2})
    more: dict[str, Any] = {"plan": plan, "report": report, "keep_exr": keep_exr}
    pieces = await real.pieces(scene, frame=2, **more)
    finish = await real.result("job/2/finish", scene, pieces=pieces, **more)
    files = [StoredFile.model_validate(file) for file in finish["files"]]
    claim = Claim(
        job_id="job",
        plan=plan,
        render_class=finish["render_class"],
        outputs=tuple(file for file in files if file.role is Role.OUTPUT),
        exr=next((file for file in files if file.role is Role.EXR), None),
        digests=finish["digests"],
    )
    assert (claim.exr is not None) == keep_exr
    assert {name.removeprefix("ViewLayer.") for name in claim.digests} >= {
        "Combined",
        "Depth",
        "CryptoObject00",
    }

    proof = await proof_of(real, scene, claim, report=report)

    assert [row for row in proof.rows if not row.same] == []
    rows = {(row.kind, row.name) for row in proof.rows}
    assert {("pass", "ViewLayer.Combined"), ("pass", "ViewLayer.Depth"), ("output", FRAME)} <= rows
    assert (("metadata", "metadata") in rows) == keep_exr


async def test_metadata_of_a_picture_alone_is_a_difference_of_its_own(real: Bench, made: Made) -> None:
    data = made.files[FRAME]
    start = data.index(b"tEXtCamera\0Camera")
    text = b"tEXtCamera\0Zoomed"
    crc = struct.pack(">I", zlib.crc32(text))
    files = {name: one for name, one in made.files.items() if not name.startswith("exr/")}
    files[FRAME] = data[:start] + text + crc + data[start + len(text) + 4 :]
    proof = await proof_of(real, real.scene(made.blend), made.claims(real.storage, files))
    assert [(row.kind, row.name, row.same, row.note) for row in proof.rows if row.name == FRAME] == [
        ("output", FRAME, True, ""),
        ("metadata", FRAME, False, "Camera: “Zoomed”, reference “Camera”"),
    ]
    assert {row.kind for row in proof.rows} == {"output", "metadata"}  # nothing was kept of the passes


@pytest.fixture(scope="module")
def stamped(made: Made, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same scene, which burns its stamp into the picture."""
    script = (
        "import sys, bpy; bpy.ops.wm.open_mainfile(filepath=sys.argv[1]); r = bpy.context.scene.render;"
        "r.use_stamp = True; bpy.ops.wm.save_as_mainfile(filepath=sys.argv[2])"
    )
    folder = tmp_path_factory.mktemp("stamped")
    (folder / "monkey.blend").write_bytes(made.blend)
    paths = [str(folder / "monkey.blend"), str(folder / "stamped.blend")]
    subprocess.run([sys.executable, "-P", "-c", script, *paths], check=True, capture_output=True)
    return (folder / "stamped.blend").read_bytes()


async def test_a_date_burnt_into_the_picture_is_told_and_not_held_against_it(
    real: Bench, made: Made, stamped: bytes
) -> None:
    """The claim is of the frame without a stamp: it differs from the stamped one for sure."""
    proof = await proof_of(real, real.scene(stamped), made.claims(real.storage, made.files))
    rows = {row.name: row for row in proof.rows if row.kind != "metadata"}
    words = "burnt into the picture: the date, the render time, the path of the scene: not compared"
    for name in (FRAME, "Composite.Combined"):
        assert (rows[name].same, rows[name].differing, rows[name].note) == (True, None, words)
    for name in ("ViewLayer.Combined", "ViewLayer.Depth", "depth/z_Depth0002.exr"):
        assert (rows[name].same, rows[name].differing, rows[name].note) == (True, 0, "")
