"""A farm whose database and storage are of this test alone, and a job on it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.plan import Plan
from farm.domain.scene import Blob, SceneManifest
from farm.domain.states import JobState, TaskState
from farm.planning import plan_job
from farm.service import blobs, jobs, scenes
from farm.service.context import Farm
from farm.settings import Settings
from farm.storage import MemoryStorage
from farm.store import Database
from farm.store import frames as frame_rows
from farm.store import jobs as job_rows
from tests.unit.dispatch.play import report

DATA = b"BLENDER-v502"
SHA = hashlib.sha256(DATA).hexdigest()
MANIFEST = SceneManifest(main="a.blend", files={"a.blend": Blob(sha256=SHA, bytes=len(DATA))})


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    farm = Farm(Database(f"sqlite:///{tmp_path / 'farm.sqlite3'}"), MemoryStorage(), Settings(home=tmp_path))
    with farm.store.write() as connection:
        job_rows.add_user(connection, LOCAL_OWNER, 1.0)
    yield farm
    farm.close()


@pytest.fixture
def job_id(farm: Farm) -> str:
    return submitted(farm)


def submitted(farm: Farm, settings: RenderSettings | None = None) -> str:
    """A job of the one scene."""
    blobs.put(farm, LOCAL_OWNER, SHA, [DATA])
    scene = scenes.register(farm, LOCAL_OWNER, MANIFEST)
    spec = JobSpec(name="One", scene_id=scene.scene_id, settings=settings or RenderSettings())
    return jobs.submit(farm, LOCAL_OWNER, spec).id


def planned(farm: Farm, job_id: str, tiles: str = "none") -> None:
    """As the dispatcher does it once the scene was read."""
    job = jobs.get(farm, LOCAL_OWNER, job_id)
    settings = job.settings.model_copy(update={"tiles": tiles})
    keep(farm, job_id, plan_job(settings, report(), 2))


def keep(farm: Farm, job_id: str, plan: Plan) -> None:
    """The job renders by this plan."""
    with farm.store.write() as connection:
        job_rows.change(
            connection,
            job_id,
            state=JobState.RENDERING.value,
            started=1.0,
            report=report().model_dump_json(),
            plan=plan.model_dump_json(),
        )


def ended(farm: Farm, job_id: str, done: list[int], state: JobState = JobState.DONE) -> None:
    """The job has ended, with these frames done."""
    with farm.store.write() as connection:
        for frame in done:
            frame_rows.open_frame(connection, job_id, frame)
            frame_rows.change(connection, job_id, frame, state=TaskState.DONE.value)
        job_rows.change(connection, job_id, state=state.value, ended=2.0, opened=len(done))
