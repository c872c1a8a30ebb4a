"""Exact frames as a user meets them: a real farm renders in pieces, `farm verify` proves it or does not."""

from __future__ import annotations

import hashlib
import html
import io
import json
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import httpx
import numpy as np
import psutil
import pytest
from PIL import Image
from pydantic import SecretStr

from benchmarks.ledger import Verdict
from benchmarks.proofs import Case, prove
from farm.client.client import FarmClient
from farm.domain.job import Engine, RenderSettings
from farm.domain.states import JobState
from farm.domain.work import Role
from farm.embedded.home import Home
from farm.embedded.stack import RunningFarm
from farm.settings import StorageSettings
from farm.storage import S3Storage, open_storage
from tests.e2e.driving import TINY, farm_command, part_pid, pixels, submit, until_ended, wait_for
from tests.integration.blender.conftest import BUILDER
from tests.integration.blender.driver import read_exr, same_bits
from tests.integration.blender.simulated import SMALL, plain, simulating

MOVIE = """
scene.render.use_motion_blur = False
scene.render.resolution_x, scene.render.resolution_y, scene.frame_end = 64, 36, 3
scene.render.ffmpeg.format, scene.render.ffmpeg.codec = "MPEG4", "H264"
"""
STEREO = """
scene.render.use_multiview, scene.render.views_format = True, "STEREO_3D"
scene.render.image_settings.views_format = "INDIVIDUAL"
"""
REGION = """
scene.render.use_border, scene.render.use_crop_to_border = True, True
scene.render.border_min_x, scene.render.border_max_x = 0.25, 0.8
scene.render.border_min_y, scene.render.border_max_y = 0.1, 0.7
"""
#: Options of `build_scene`, by the name of the file.
SCENES: dict[str, dict[str, Any]] = {
    "movie": {"file_format": "FFMPEG", "extra": MOVIE, "objects": 1},
    "falling": {"extra": simulating("simulation-nodes", "scene.frame_end = 4"), **SMALL},
    "stereo": {"extra": STEREO, "objects": 2},
    "region": {"extra": REGION, "objects": 2},
    "layers": {"file_format": "OPEN_EXR_MULTILAYER", "objects": 2},
}
#: Of other people, and they render with Cycles; three are drawn.
THEIRS = (
    "clevr/base_scene.blend",
    "golem/apps/blender/benchmark/test_task/cube.blend",
    "golem/scripts/node_integration_tests/tasks/cubes/cubes.blend",
    "golem/tests/apps/blender/verification/test_data/chessboard_400x400.blend",
    "multicam/per_camera_render_3_cameras.blend",
    "multicam/cycles_7_cameras_clockwise.blend",
    "gltfio/scenes/37_lamp_Cycles.blend",
    "gltfio/scenes/01_factors.blend",
    "ignis/evaluation/blender/normalmap.blend",
    "bricabrac/Geometry Node/gnx_accordion.blend",
    "bricabrac/Geometry Node/gnx_mockup.blend",
    "creativeflow/assets/common/stylit/blends/sphere_stylit.blend",
    "odm/photo_360.blend",
    "odm/photo_vr.blend",
)
DRAWN = random.Random(5).sample(THEIRS, 3)  # noqa: S311


class Rendered(Protocol):
    """Gives the id of a job that is done; the same scene and settings give the same job."""

    def __call__(self, scene: str, **settings: object) -> str: ...


@pytest.fixture(scope="module")
def client(running_farm: RunningFarm) -> Iterator[FarmClient]:
    with FarmClient(running_farm.url) as client:
        yield client


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of one of the scenes above; all are built by one Blender."""
    folder = tmp_path_factory.mktemp("tiny")
    size = {"width": 96, "height": 54, "samples": 4}
    orders = [(str(folder / f"{name}.blend"), size | options) for name, options in SCENES.items()]
    text = "".join(f"{order!r}\n" for order in orders)
    subprocess.run([sys.executable, "-P", BUILDER], input=text, text=True, check=True, capture_output=True)
    return lambda name: folder / f"{name}.blend"


@pytest.fixture(scope="module")
def rendered(client: FarmClient, tiny: Callable[[str], Path], sample: Callable[[str], Path]) -> Rendered:
    @cache
    def rendered(scene: str, **settings: object) -> str:
        blend = tiny(scene) if scene in SCENES else sample(scene)
        job_id = submit(client, blend, **settings)
        job = until_ended(client, job_id)
        assert job.state is JobState.DONE, job.error
        return job_id

    return rendered


@pytest.fixture(scope="module")
def storage(running_farm: RunningFarm, farm_home: Path) -> S3Storage:
    """The farm's own storage, as an attacker with its keys would open it."""
    access, secret = Home(farm_home).access_keys()
    endpoint = psutil.Process(part_pid(farm_home, "web")).environ()["FARM_STORAGE__ENDPOINT"]
    return open_storage(StorageSettings(endpoint=endpoint, access_key=access, secret_key=SecretStr(secret)))


def verify(job_id: str, *arguments: object) -> tuple[int, dict[str, Any]]:
    """What `farm verify --json` ended with, and printed."""
    done = farm_command("verify", job_id, *arguments, "--json")
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def proved(job_id: str) -> list[dict[str, Any]]:
    """The rows of a frame that is proved."""
    code, told = verify(job_id)
    [frame] = told["frames"]
    assert [row for row in frame["rows"] if not row["same"]] == []
    assert (code, told["state"], told["exact"]) == (0, "done", True)
    return list(frame["rows"])


def averaged(rows: list[dict[str, Any]]) -> list[str]:
    """Passes that were compared by their values, and differ a little, as sums in another order do."""
    return [row["name"] for row in rows if row["kind"] == "pass" and row["differing"]]


def rows_of(farm_home: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Of the farm's database, whoever may read it; a change is committed."""
    with closing(sqlite3.connect(farm_home / "farm.sqlite3", timeout=60)) as database, database:
        return database.execute(query, values).fetchall()


def key_of(farm_home: Path, job_id: str, role: Role) -> str:
    [(key,)] = rows_of(farm_home, "SELECT key FROM outputs WHERE job_id = ? AND role = ?", job_id, role.value)
    return str(key)


def spoilt(data: bytes) -> bytes:
    """The picture with one step more in one value of one pixel."""
    values = np.asarray(Image.open(io.BytesIO(data))).copy()
    values[5, 7, 0] ^= 1
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, "PNG")
    return buffer.getvalue()


def text(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_a_frame_in_tiles_is_proved_and_its_page_says_so(
    running_farm: RunningFarm, rendered: Rendered
) -> None:
    job_id = rendered("lens", tiles="2x2", frames="1", **TINY)
    code, told = verify(job_id)
    assert (code, told["job"], told["state"], told["exact"]) == (0, job_id, "done", True)
    [frame] = told["frames"]
    assert (frame["frame"], frame["tolerance"]) == (1, 0.0)
    assert {row["kind"] for row in frame["rows"]} == {"pass", "output"}
    assert {(row["same"], row["differing"], row["largest"]) for row in frame["rows"]} == {(True, 0, 0.0)}
    page = httpx.get(f"{running_farm.url}/jobs/{job_id}", trust_env=False).text
    assert "Proved: 1 frame is the same, bit for bit" in text(page)
    said = farm_command("show", job_id).stdout
    assert "proof    1 frame is that rendered whole" in said


def test_a_frame_that_was_never_cut_has_nothing_to_prove(client: FarmClient, rendered: Rendered) -> None:
    job_id = rendered("lens", tiles="none", frames="1", **TINY)
    done = farm_command("verify", job_id)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Nothing to prove: the frames of job {job_id} were never cut.\n"
    assert client.job(job_id).verified == 0


def test_another_picture_in_storage_is_found_out(
    client: FarmClient, sample: Callable[[str], Path], storage: S3Storage, farm_home: Path
) -> None:
    """First the file alone is replaced, which its SHA-256 tells; then what the database says of it too."""
    job_id = submit(client, sample("lens"), tiles="2x1", frames="1", **TINY)
    assert until_ended(client, job_id).state is JobState.DONE
    key = key_of(farm_home, job_id, Role.OUTPUT)
    forged = spoilt(b"".join(storage.stream(key)))
    storage.put_stream(key, [forged], "image/png")

    code, told = verify(job_id)
    wrong = [row for row in told["frames"][0]["rows"] if not row["same"]]
    assert (code, told["exact"], told["state"]) == (1, False, "done")
    assert [(row["kind"], row["name"], row["note"]) for row in wrong] == [
        (
            "output",
            "lens_0001.png",
            "what lies in storage is not what was stored: its SHA-256 differs",
        )
    ]

    update = "UPDATE outputs SET sha256 = ?, bytes = ? WHERE key = ?"
    rows_of(farm_home, update, hashlib.sha256(forged).hexdigest(), len(forged), key)
    done = farm_command("verify", job_id)
    assert done.returncode == 1
    assert re.search(r"output +lens_0001\.png +1 of 8,040 +0\.00392", done.stdout), done.stdout
    assert "Frame 1: 1 of 1 output and the metadata differ." in done.stdout, done.stdout
    assert done.stderr.startswith("1 of 1 frame differs from what is rendered whole.\n")
    assert (client.job(job_id).verified, client.job(job_id).differing) == (1, 1)


def test_layers_in_one_file_are_one_row_until_one_of_them_differs(
    rendered: Rendered, client: FarmClient
) -> None:
    rows = proved(rendered("layers", tiles="2x1", frames="1"))
    outputs = [(row["name"], row["part"], row["note"]) for row in rows if row["kind"] == "output"]
    passes = [row["name"] for row in rows if row["kind"] == "pass"]
    assert outputs == [("shot_0001.exr", "", f"{len(passes)} passes")]
    assert {"ViewLayer.Combined", "ViewLayer.Depth", "ViewLayer.CryptoObject00"} <= set(passes)


def test_samples_that_were_shared_out_are_within_a_millionth(rendered: Rendered) -> None:
    rows = proved(rendered("lens", split="samples:2", frames="1", scale=25, samples=32, keep_exr=True))
    assert averaged(rows) == ["ViewLayer.Noisy Image"]
    [denoised] = [row for row in rows if row["kind"] == "denoised"]
    assert denoised["name"] == "ViewLayer.Combined"
    assert 0 < denoised["largest"] <= 1e-3


def test_a_scene_that_was_just_rendered_with_more_samples_is_proved(rendered: Rendered) -> None:
    """Workers keep it in memory: nothing of the other job may be in its pictures."""
    for samples in (32, 8, 16):
        rows = proved(rendered("lens", tiles="2x1", frames="1", scale=25, samples=samples))
        assert all(row["differing"] == 0 for row in rows if row["kind"] == "pass")


def test_samples_added_later_are_proved(client: FarmClient, sample: Callable[[str], Path]) -> None:
    first = submit(client, sample("lens"), frames="1", scale=25, samples=16, first=4, keep_exr=True)
    assert until_ended(client, first).state is JobState.DONE
    said = farm_command("rerender", first, "--samples", 16, "--json")
    told = json.loads(said.stdout)
    assert (said.returncode, told["of"], told["adds_to"]) == (0, first, first)
    job = until_ended(client, told["job"])
    assert job.state is JobState.DONE, job.error
    assert job.plan is not None
    assert [(part.first, part.count, part.total) for part in job.plan.ranges] == [(0, 4, 16), (4, 12, 16)]
    rows = proved(job.id)
    assert averaged(rows) == ["ViewLayer.Noisy Image"]


def test_a_scene_that_asks_for_a_movie_gives_frames_movie_and_preview(
    running_farm: RunningFarm, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    done = farm_command("render", tiny("movie"), "--frames", "1-3", "--video", "--out", tmp_path, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["state"]) == (0, "done"), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "preview.mp4",
        "shot_0001-0003.mp4",
        "shot_0001.png",
        "shot_0002.png",
        "shot_0003.png",
    ]
    assert sorted(Path(video["path"]).name for video in told["videos"]) == [
        "preview.mp4",
        "shot_0001-0003.mp4",
    ]
    for video in told["videos"]:
        assert b"ftyp" in Path(video["path"]).read_bytes()[:16]
    assert farm_command("fetch", told["job"], "--out", tmp_path / "again").returncode == 0
    assert len(list((tmp_path / "again").iterdir())) == 5


def test_what_simulates_is_rendered_in_order_by_one_worker(
    client: FarmClient, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    job_id = submit(client, tiny("falling"), frames="1-4", tiles="2x2", keep_exr=True)
    job = until_ended(client, job_id)
    assert job.state is JobState.DONE, job.error
    assert job.plan is not None
    assert (job.plan.in_order, job.plan.grid) == (True, None)
    frames = [attempt for attempt in client.attempts(job_id, failed=False) if "/whole" in attempt.task]
    assert len({attempt.worker_id for attempt in frames}) == 1
    started = sorted(frames, key=lambda attempt: attempt.started or 0)
    assert [attempt.task for attempt in started] == [f"{job_id}/{n}/whole" for n in (1, 2, 3, 4)]
    ours = tmp_path / "ours.exr"
    [kept] = [output for output in client.frame(job_id, 4).outputs if output.role is Role.EXR]
    client.download(kept, ours)
    played = plain(tiny("falling"), tmp_path / "played", (1, 4), 4)
    assert same_bits(read_exr(ours), read_exr(played)) == []
    jumped = plain(tiny("falling"), tmp_path / "jumped", (4, 4), 4)
    assert "ViewLayer.Combined.R" in same_bits(read_exr(ours), read_exr(jumped)), (
        "or none of this were needed"
    )


@pytest.mark.parametrize(
    ("scene", "names", "size"),
    [("stereo", ["shot_0001_L.png", "shot_0001_R.png"], (96, 54)), ("region", ["shot_0001.png"], (52, 32))],
)
def test_views_and_regions_in_tiles_are_proved(
    client: FarmClient,
    rendered: Rendered,
    tmp_path: Path,
    scene: str,
    names: list[str],
    size: tuple[int, int],
) -> None:
    job_id = rendered(scene, tiles="2x2", frames="1")
    rows = proved(job_id)
    assert [row["name"] for row in rows if row["kind"] == "output"] == names
    assert all(row["differing"] == 0 for row in rows)
    for output in client.frame(job_id, 1).outputs:
        client.download(output, tmp_path / output.name)
        with Image.open(tmp_path / output.name) as picture:
            assert picture.size == size


def test_a_piece_that_storage_damaged_is_rendered_again(
    client: FarmClient, sample: Callable[[str], Path], storage: S3Storage, farm_home: Path, tmp_path: Path
) -> None:
    settings = {"frames": "1", "scale": 25, "samples": 64}
    job_id = submit(client, sample("lens"), tiles="4x2", **settings)

    def piece() -> str | None:
        query = "SELECT key FROM outputs WHERE job_id = ? AND role = ?"
        found = rows_of(farm_home, query, job_id, Role.PIECE.value)
        return str(found[0][0]) if found else None

    key = wait_for(piece)
    data = bytearray(b"".join(storage.stream(key)))
    data[len(data) // 2] ^= 0xFF
    storage.put_stream(key, [bytes(data)])
    job = until_ended(client, job_id)
    assert job.state is JobState.DONE, job.error
    [failed] = client.attempts(job_id, failed=True)
    assert "/finish" in failed.task
    tiles = [a for a in client.attempts(job_id, failed=False) if "/tile-" in a.task]
    [dropped] = [attempt.task for attempt in tiles if attempt.state == "dropped"]
    counted = [attempt.task for attempt in tiles if attempt.state == "done"]
    assert (len(counted), len(set(counted)), dropped in counted) == (8, 8, True)
    whole = submit(client, sample("lens"), tiles="none", **settings)
    until_ended(client, whole)
    assert np.array_equal(pixels(client, job_id, 1, tmp_path), pixels(client, whole, 1, tmp_path))


@pytest.mark.corpus
@pytest.mark.parametrize("name", DRAWN)
def test_scenes_of_other_people_are_proved(
    client: FarmClient, corpus: Callable[[str], Path], name: str
) -> None:
    settings = {"frames": "1", "scale": 10, "samples": 4, "tiles": "2x2", "engine": Engine.CYCLES}
    case = Case(name, corpus(name), RenderSettings.model_validate(settings), "2x2")
    entry = prove(client, case)
    assert (entry.verdict, entry.differing) == (Verdict.EXACT, ()), entry.why
    assert entry.passes
    assert entry.outputs
