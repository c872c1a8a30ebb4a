"""Bad input on a real farm: one sentence and a cure, the same for command, API and page; the farm goes on."""

from __future__ import annotations

import html
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from farm.assets.hashing import blob_of
from farm.client.client import FarmClient
from farm.domain.job import JobSpec
from farm.domain.scene import SceneManifest
from farm.domain.states import JOB_ENDED, JobState
from farm.embedded import stack
from farm.embedded.stack import RunningFarm
from farm.service.context import open_farm
from farm.settings import Settings, StorageSettings
from web.app import create_app
from web.opened import OpenFarm

pytestmark = pytest.mark.timeout(300)

#: Nothing listens at the “discard” port of a machine that was set up in this century.
NOWHERE = "http://127.0.0.1:9"

_BUILD = """
import sys, bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.engine, scene.cycles.samples, scene.cycles.use_adaptive_sampling = "CYCLES", 1, False
scene.render.resolution_x, scene.render.resolution_y, scene.frame_end = 48, 27, 3
scene.render.filepath = "//shot_####"
bpy.ops.mesh.primitive_cube_add()
def save(name):
    bpy.ops.wm.save_as_mainfile(filepath=f"{sys.argv[1]}/{name}.blend", compress=False)
save("no-camera")
bpy.ops.object.camera_add(location=(5, -5, 4), rotation=(1.1, 0, 0.8))
scene.camera = bpy.context.object
save("good")
scene.render.engine = "BLENDER_WORKBENCH"
save("workbench")
"""


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


def farm_command(*arguments: object, cwd: Path | None = None, **environment: str) -> Said:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "farm.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one good scene and many that are not."""
    folder = tmp_path_factory.mktemp("scenes")
    subprocess.run([sys.executable, "-P", "-c", _BUILD, str(folder)], check=True, capture_output=True)
    good = (folder / "good.blend").read_bytes()
    (folder / "empty.blend").write_bytes(b"")
    (folder / "letter.blend").write_bytes(b"Dear farm, please render this.\n" * 99)
    (folder / "pointer.blend").write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 9\n"
    )
    (folder / "truncated.blend").write_bytes(good[: len(good) // 2])
    (folder / "newer.blend").write_bytes(of_version_999(good))
    (folder / "too-new.blend").write_bytes(of_version_999(good, least=True))
    return folder


def of_version_999(blend: bytes, *, least: bool = False) -> bytes:
    """The file as Blender 9.99 would have saved it; with ``least`` none before that may open it.

    Blender reads on where only its header is newer, and warns. What it refuses is told by `minversion`
    in the file's FileGlobal block, after four characters and a short (DNA_fileGlobal_types.h).
    """
    data = bytearray(blend)
    data[: len(b"BLENDER17-01v0999")] = b"BLENDER17-01v0999"
    if least:
        at = data.index(b"GLOB") + 32 + 4 + 2  # the block's own header has 32 bytes
        data[at : at + 2] = (999).to_bytes(2, "little")
    return bytes(data)


@pytest.fixture
def http(running_farm: RunningFarm) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running_farm.url, trust_env=False, timeout=30) as http:
        yield http


def page_says(http: httpx.Client, path: str, *sentences: str, status: int = 200) -> None:
    answer = http.get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    text = html.unescape(re.sub(r"<[^>]+>", "", answer.text))
    for sentence in sentences:
        assert sentence in text
    assert "Traceback" not in text


def problem(answer: httpx.Response, status: int) -> dict[str, str]:
    """The body of a problem-details answer, which must be whole."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"].endswith(".")
    assert body["cure"]
    assert "Traceback" not in answer.text
    return body


def sent_unseen(client: FarmClient, scene: Path, **settings: object) -> str:
    """Submit a file without the command's own look at it; the job's id."""
    manifest = SceneManifest(main=scene.name, files={scene.name: blob_of(scene)})
    reference = client.upload_scene(manifest, scene.parent)
    spec = JobSpec.model_validate(
        {"name": scene.stem, "scene_id": reference.scene_id, "settings": {"frames": "1", **settings}}
    )
    return client.submit(spec).id


def failed(client: FarmClient, job_id: str) -> tuple[str, str]:
    """Error and cure of a job, once it has failed."""
    for _ in client.follow(job_id, wait=1):
        pass
    job = client.job(job_id)
    assert job.state is JobState.FAILED
    assert job.cure
    return job.error, job.cure


FILES = [
    ("empty", "“empty.blend” is empty.", "“empty.blend” is empty."),
    ("letter", "“letter.blend” is not a Blender file.", "“letter.blend” is not a Blender file."),
    ("pointer", "“pointer.blend” is a Git LFS pointer", "“pointer.blend” is a Git LFS pointer"),
    ("truncated", "“truncated.blend” is cut short or damaged.", "“truncated.blend” is damaged or cut short"),
]


@pytest.mark.parametrize(("name", "here", "there"), FILES, ids=[name for name, _, _ in FILES])
def test_a_file_that_is_no_scene_is_refused_here_and_there(
    running_farm: RunningFarm,
    client: FarmClient,
    http: httpx.Client,
    scenes: Path,
    name: str,
    here: str,
    there: str,
) -> None:
    before = [job.id for job in client.jobs(1)]
    said = farm_command("render", scenes / f"{name}.blend")
    assert said.code == 1
    assert len(said.lines) == 2
    assert said.lines[0].startswith(here)
    assert [job.id for job in client.jobs(1)] == before, "nothing was sent"

    job_id = sent_unseen(client, scenes / f"{name}.blend")
    error, cure = failed(client, job_id)
    assert error.startswith(there)
    page_says(http, f"/jobs/{job_id}", error, cure)
    assert farm_command("watch", job_id) == Said(1, "", f"{error}\n{cure}\n")


SCENES = [
    ("no-camera", (), "The scene “Scene” has no camera.", "--camera"),
    ("workbench", (), "is set to render with BLENDER_WORKBENCH, not Cycles.", "--engine cycles"),
    (
        "too-new",
        (),
        "“too-new.blend” was saved by Blender 9.99; this worker has 5.",
        "Save it for Blender 5.",
    ),
    ("good", ("--tiles", "49x1"), "A tile grid of 49x1 is finer than the picture (48×27).", "--tiles auto"),
    ("good", ("--camera", "Nope"), "has no camera “Nope”.", "“Camera”"),
    ("good", ("--scene", "Nope"), "“Nope”", "“Scene”"),
]


@pytest.mark.parametrize(("name", "options", "what", "cure"), SCENES)
def test_a_scene_that_cannot_be_rendered_says_so_everywhere(
    client: FarmClient,
    http: httpx.Client,
    scenes: Path,
    tmp_path: Path,
    name: str,
    options: tuple[str, ...],
    what: str,
    cure: str,
) -> None:
    out = tmp_path / "out"
    said = farm_command("render", scenes / f"{name}.blend", *options, "--out", out, "--json")
    assert said.code == 1
    told = json.loads(said.out)
    assert told["state"] == "failed"
    assert what in told["error"]
    assert cure in told["cure"]
    assert said.lines == [told["error"], told["cure"]]
    assert not out.exists()

    assert failed(client, told["job"]) == (told["error"], told["cure"])
    page_says(http, f"/jobs/{told['job']}", told["error"], told["cure"])
    assert farm_command("show", told["job"]).out.count(told["error"]) >= 1


def test_a_newer_file_that_blender_still_reads_is_rendered_with_a_warning(
    running_farm: RunningFarm, scenes: Path, tmp_path: Path
) -> None:
    said = farm_command("render", scenes / "newer.blend", "--frames", "1", "--out", tmp_path)
    assert said.code == 0
    assert "Note: The file was saved by Blender 9.99; it is read by 5." in said.err
    assert (tmp_path / "shot_0001.png").is_file()


@pytest.mark.parametrize(
    ("settings", "arguments", "what"),
    [
        ({"frames": "1 10"}, ("--frames", "1 10"), "“1 10” is not a frame range."),
        ({"frames": "5-1"}, ("--frames", "5-1"), "Frame range “5-1” runs backwards."),
        ({"tiles": "2"}, ("--tiles", "2"), "“2” is not a tile grid."),
    ],
)
def test_a_request_that_cannot_be_read_is_2_for_the_command_and_400_for_the_api(
    running_farm: RunningFarm,
    http: httpx.Client,
    scenes: Path,
    settings: dict[str, str],
    arguments: tuple[str, ...],
    what: str,
) -> None:
    said = farm_command("render", scenes / "good.blend", *arguments)
    assert said.code == 2
    assert said.lines[0] == what
    assert len(said.lines) == 2

    spec = {"name": "x", "scene_id": "0" * 64, "settings": settings}
    body = problem(http.post("/api/jobs", json=spec), 400)
    assert body["detail"] == what
    assert body["cure"] == said.lines[1]


def test_a_frame_range_in_two_words_is_2_and_says_how_to_write_it(
    running_farm: RunningFarm, scenes: Path
) -> None:
    said = farm_command("render", scenes / "good.blend", "--frames", "1", "10")
    assert said.code == 2
    assert "as one word, such as 1-10" in said.lines[1]


def test_a_job_of_a_scene_that_was_never_sent_is_422(http: httpx.Client) -> None:
    body = problem(http.post("/api/jobs", json={"name": "x", "scene_id": "0" * 64}), 422)
    assert body["detail"] == "The farm does not have this scene."


@pytest.mark.parametrize("verb", ["show", "cancel", "fetch", "watch"])
def test_an_unknown_job_is_1_for_every_command(running_farm: RunningFarm, tmp_path: Path, verb: str) -> None:
    said = farm_command(verb, "nosuch42", cwd=tmp_path)
    assert said.code == 1
    assert said.lines[0] == "There is no job nosuch42 on this farm."
    assert "farm jobs" in said.lines[1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["", "/frames", "/frames/1", "/attempts", "/cancel"])
def test_an_unknown_job_is_404_for_the_api(http: httpx.Client, path: str) -> None:
    method = "POST" if path == "/cancel" else "GET"
    body = problem(http.request(method, f"/api/jobs/nosuch42{path}"), 404)
    assert body["detail"] == "There is no job nosuch42 on this farm."


@pytest.mark.parametrize("path", ["/jobs/nosuch42", "/jobs/nosuch42/frames/1"])
def test_an_unknown_job_has_a_page_that_says_so(http: httpx.Client, path: str) -> None:
    page_says(http, path, "There is no job nosuch42 on this farm.", status=404)


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """A disk of its own size, in memory."""
    if os.getuid() != 0:
        pytest.skip("only root may mount a small disk")
    # In a short place: the farm's home lies on one of them.
    with tempfile.TemporaryDirectory(prefix="tessera-small-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("a small disk cannot be mounted here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def fill(path: Path) -> None:
    """Write to the file until no byte is left on its disk."""
    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(1 << 20))


def test_a_full_disk_at_the_artists_is_said_and_the_rest_can_be_fetched(
    client: FarmClient, scenes: Path, tmp_path: Path
) -> None:
    with small_disk("64k") as disk:
        fill(disk / "filler")
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - 4096)  # room for a name, not for more
        said = farm_command("render", scenes / "good.blend", "--keep-exr", "--out", disk, "--json")
        told = json.loads(said.out)
        assert said.code == 1
        assert told["code"] == "storage-full"
        assert "No room left for “" in told["error"]
        assert f"farm fetch {told['job']} --out {disk}" in told["cure"]
        assert not list(disk.rglob("*.part"))
        for _ in client.follow(told["job"], wait=1):
            pass
        (disk / "filler").unlink()
    rest = farm_command("fetch", told["job"], "--out", tmp_path)
    assert rest.code == 0
    assert len(list(tmp_path.glob("*.png"))) == 3, "the job itself went on"


def test_a_full_disk_of_the_farm_is_said_everywhere_and_the_farm_goes_on(
    scenes: Path, tmp_path: Path
) -> None:
    with small_disk("1300m") as disk:
        home = {"FARM_HOME": str(disk / "home")}
        settings = Settings(home=disk / "home")
        farm = stack.start(settings, workers=1)
        try:
            with httpx.Client(base_url=farm.url, trust_env=False, timeout=60) as http:
                fill(disk / "filler")
                said = farm_command("render", scenes / "good.blend", "--out", tmp_path / "a", **home)
                assert said.code == 1
                assert said.lines[0].startswith("Storage takes no more files: 0 MB are free on the disk of “")
                assert said.lines[1].startswith("Free some space there")
                blob = blob_of(scenes / "good.blend")
                sent = http.put(f"/api/blobs/{blob.sha256}", content=(scenes / "good.blend").read_bytes())
                assert problem(sent, 507)["detail"] == said.lines[0]
                page_says(http, "/", "Jobs")
                (disk / "filler").unlink()
            again = retried("render", scenes / "good.blend", "--frames", "1", "--out", tmp_path / "b", **home)
            assert again.code == 0, again.err
        finally:
            stack.stop(disk / "home")


def retried(*arguments: object, **environment: str) -> Said:
    """A command that is called again while the farm still finds its disk full, as its cure says."""
    for _ in range(60):
        said = farm_command(*arguments, **environment)
        if said.code == 0 or "farm" not in said.err:
            break
    return said


@pytest.mark.parametrize("verb", ["up", "render"])
def test_a_port_in_use_is_said_and_nothing_is_started(scenes: Path, tmp_path: Path, verb: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        scene = [scenes / "good.blend"] if verb == "render" else []
        said = farm_command(verb, *scene, FARM_HOME=str(tmp_path), FARM_PORT=port)
    assert said.code == 1
    assert said.lines == [
        f"Port {port} on 127.0.0.1 is taken by another program.",
        "Choose another with --port or FARM_PORT, or leave it out to have a free one found.",
    ]
    assert stack.running(tmp_path) is None


@pytest.mark.parametrize("verb", ["up", "render"])
def test_no_storage_is_said_before_anything_is_started(scenes: Path, tmp_path: Path, verb: str) -> None:
    scene = [scenes / "good.blend"] if verb == "render" else []
    said = farm_command(verb, *scene, FARM_HOME=str(tmp_path), FARM_STORAGE__ENDPOINT=NOWHERE)
    assert said.code == 1
    assert said.lines[0] == f"No storage answers at {NOWHERE}."
    assert "FARM_STORAGE__ENDPOINT" in said.lines[1]
    assert stack.running(tmp_path) is None


async def test_storage_that_is_away_later_is_said_by_api_and_page(scenes: Path, tmp_path: Path) -> None:
    away = StorageSettings(endpoint=NOWHERE, access_key="x", secret_key=SecretStr("x"))
    farm = open_farm(Settings(home=tmp_path, storage=away))
    try:
        transport = httpx.ASGITransport(create_app(OpenFarm(farm)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            data = (scenes / "good.blend").read_bytes()
            sent = await http.put(f"/api/blobs/{blob_of(scenes / 'good.blend').sha256}", content=data)
            assert problem(sent, 503)["detail"] == f"Storage at {NOWHERE} does not answer."
            page = await http.get("/farm")
            assert "Away. Workers hold what they made and try again." in page.text
    finally:
        farm.close()


def test_no_farm_is_said_by_every_command_that_needs_one(scenes: Path, tmp_path: Path) -> None:
    for arguments in (["jobs"], ["submit", scenes / "good.blend"], ["watch", "x"], ["status"]):
        said = farm_command(*arguments, FARM_HOME=str(tmp_path))
        assert said.code == 1
        assert said.lines[0] == "No farm runs on this machine."
        assert "farm up" in said.lines[1]


def test_after_all_that_the_farm_renders_on(
    client: FarmClient, scenes: Path, tmp_path: Path, farm_logs: Callable[[], str]
) -> None:
    done = farm_command("render", scenes / "good.blend", "--out", tmp_path)
    assert done.code == 0, farm_logs()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"shot_{frame:04d}.png" for frame in (1, 2, 3)
    ]
    assert all(job.state in JOB_ENDED for job in client.jobs(100)), "no bad job was left hanging"
