"""The real API and the fake one keep the same contract with the client.

Whatever a client test believes because of `FakeFarm` is tried here on the web app, the service and
a database, too.
"""

import hashlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from farm.assets.hashing import blob_of
from farm.client.client import FarmClient
from farm.client.testing import FakeFarm, served
from farm.domain.errors import BadInput, Conflict, NotFound, UsageError
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.scene import Blob, SceneManifest
from farm.domain.states import JobState
from farm.domain.views import OutputView
from farm.domain.work import Role
from farm.service.context import Farm
from farm.settings import Settings
from farm.storage.memory import MemoryStorage
from farm.store import jobs
from farm.store.database import Database
from web.app import create_app
from web.opened import OpenFarm


@pytest.fixture
def fake() -> Iterator[str]:
    with served(FakeFarm()) as url:
        yield url


@pytest.fixture
def real(tmp_path) -> Iterator[str]:
    settings = Settings(home=tmp_path / "home")
    settings.home.mkdir()
    farm = Farm(Database(settings.database), MemoryStorage(), settings)
    with farm.store.write() as connection:
        jobs.add_user(connection, LOCAL_OWNER, farm.now())
    server = uvicorn.Server(
        uvicorn.Config(create_app(OpenFarm(farm)), host="127.0.0.1", port=0, log_level="error")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
    farm.close()


@pytest.fixture(params=["fake", "real"])
def client(request) -> Iterator[FarmClient]:
    with FarmClient(request.getfixturevalue(request.param)) as client:
        yield client


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "scene").mkdir()
    (tmp_path / "scene" / "é.blend").write_bytes(b"scene" * 500_000)
    (tmp_path / "scene" / "empty.png").write_bytes(b"")
    return tmp_path / "scene"


@pytest.fixture
def manifest(folder) -> SceneManifest:
    return SceneManifest(
        main="é.blend", files={name: blob_of(folder / name) for name in ("é.blend", "empty.png")}
    )


def submitted(client: FarmClient, manifest: SceneManifest, folder: Path) -> str:
    ref = client.upload_scene(manifest, folder)
    spec = JobSpec(name="x", scene_id=ref.scene_id, settings=RenderSettings(frames="1-3"))
    return client.submit(spec).id


def test_a_scene_is_sent_once_and_known_by_its_id(client, manifest, folder):
    told: list[tuple[int, int]] = []
    for _ in range(2):
        ref = client.upload_scene(manifest, folder, lambda sent, total: told.append((sent, total)))
        assert ref.scene_id == manifest.scene_id
    assert told[-1] == (0, 0)


def test_a_file_of_other_content_than_announced_is_bad_input(client, manifest, folder):
    data = (folder / "é.blend").read_bytes()
    (folder / "é.blend").write_bytes(b"S" + data[1:])
    with pytest.raises(BadInput) as caught:
        client.upload_scene(manifest, folder)
    assert caught.value.cure


def test_a_job_begins_waiting_with_its_settings(client, manifest, folder):
    job_id = submitted(client, manifest, folder)
    job = client.job(job_id)
    assert (job.state, job.name, job.settings.frames) == (JobState.WAITING, "x", "1-3")
    assert [one.id for one in client.jobs(limit=1)] == [job_id]
    assert list(client.frames(job_id)) == []
    assert client.attempts(job_id) == []


def test_a_job_of_an_unknown_scene_is_bad_input(client):
    with pytest.raises(BadInput):
        client.submit(JobSpec(name="x", scene_id="0" * 64))


def test_a_cancelled_job_is_cancelling_or_cancelled(client, manifest, folder):
    job = client.cancel(submitted(client, manifest, folder))
    assert job.cancelling or job.state is JobState.CANCELLED


def test_a_waiting_job_has_no_events_and_asking_waits_no_longer_than_told(client, manifest, folder):
    assert client.events(0, submitted(client, manifest, folder), wait=0.1) == []


def test_a_job_that_has_not_ended_cannot_be_verified_and_has_no_proofs(client, manifest, folder):
    job_id = submitted(client, manifest, folder)
    with pytest.raises(Conflict, match="has not ended yet: it is waiting"):
        client.verify(job_id)
    assert list(client.proofs(job_id)) == []
    with pytest.raises(UsageError):
        client.verify(job_id, "all")


def test_a_job_is_rendered_again_with_what_changed(client, manifest, folder):
    job_id = submitted(client, manifest, folder)
    job, asked = client.rerender(job_id, samples=64)
    assert (job.settings.samples, job.settings.frames, job.adds_to) == (64, "1-3", None)
    assert asked.what == "renders all 64 samples anew"


def test_samples_cannot_be_added_to_an_unknown_job(client, manifest, folder):
    ref = client.upload_scene(manifest, folder)
    with pytest.raises(NotFound):
        client.submit(JobSpec(name="x", scene_id=ref.scene_id, adds_to="nosuch"))


@pytest.mark.parametrize("job_id", ["nosuch", "a b/ü?x=1"])
def test_an_unknown_job_is_not_found(client, job_id):
    for verb in (
        client.job,
        client.cancel,
        client.attempts,
        client.verify,
        client.rerender,
        lambda one: list(client.frames(one)),
        lambda one: list(client.proofs(one)),
    ):
        with pytest.raises(NotFound):
            verb(job_id)


def test_a_frame_of_an_unread_job_and_an_unknown_output_are_errors(client, manifest, folder, tmp_path):
    job_id = submitted(client, manifest, folder)
    with pytest.raises(Conflict):  # its scene was not read yet
        client.frame(job_id, 99)
    output = OutputView(
        id=99, role=Role.OUTPUT, name="x.png", bytes=1, sha256=hashlib.sha256(b"x").hexdigest(), media_type=""
    )
    with pytest.raises(NotFound):
        client.download(output, tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()


def test_a_scene_whose_files_were_not_sent_is_bad_input(client):
    manifest = SceneManifest(main="x.blend", files={"x.blend": Blob(sha256="0" * 64, bytes=1)})
    with pytest.raises(BadInput):
        client._line.ask(dict, "POST", "/api/scenes", json=manifest.model_dump(mode="json"))


def test_the_pulse_tells_the_version(client):
    from farm import __version__

    assert client.farm().version == __version__
