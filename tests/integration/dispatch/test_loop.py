"""The dispatcher on a real database, with workers that obey a script."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from farm.dispatch.loop import Dispatcher
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.scene import Finding, Weight
from farm.domain.states import JOB_ENDED, JobState, TaskState
from farm.domain.task import TaskKind
from farm.domain.views import JobView
from farm.domain.work import Cause, Failure, Order, Result
from farm.service import attempts, events, frames, jobs, status
from farm.service.context import Farm
from farm.settings import Settings
from farm.storage import MemoryStorage
from farm.store import Database, head, scenes
from farm.store import jobs as job_rows
from tests.fakes.cluster import ScriptedCluster, obedient
from tests.postgres import postgres
from tests.unit.dispatch.play import MANIFEST, report

__all__ = ["postgres"]


@pytest.fixture(params=["sqlite", "postgresql"])
def farm(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Farm]:
    url = f"sqlite:///{tmp_path / 'farm.sqlite3'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres")()
    farm = Farm(Database(url), MemoryStorage(), Settings(home=tmp_path))
    with farm.store.write() as connection:
        job_rows.add_user(connection, LOCAL_OWNER, 1.0)
        scenes.add_scene(connection, MANIFEST, 1.0)
    yield farm
    farm.close()


@asynccontextmanager
async def dispatching(farm: Farm, cluster: ScriptedCluster):
    dispatcher = Dispatcher(farm.store, farm.storage, cluster)
    task = asyncio.create_task(dispatcher.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await dispatcher.close()


def submit(farm: Farm, **settings: object) -> str:
    spec = JobSpec(
        name="One",
        scene_id=MANIFEST.scene_id,
        settings=RenderSettings.model_validate({"tiles": "none"} | settings),
    )
    return jobs.submit(farm, LOCAL_OWNER, spec).id


async def until_ended(farm: Farm, job_id: str) -> JobView:
    async with asyncio.timeout(20):
        while (job := jobs.get(farm, LOCAL_OWNER, job_id)).state not in JOB_ENDED:
            await asyncio.sleep(0.05)
    return job


async def test_a_submitted_job_is_done_and_its_story_is_told(farm: Farm) -> None:
    job_id = submit(farm, frames="1-5", tiles="2x1")
    async with dispatching(farm, ScriptedCluster(2)):
        job = await until_ended(farm, job_id)
    assert job.state is JobState.DONE
    assert job.frames.done == job.frames.total == 5
    views = frames.listed(farm, LOCAL_OWNER, job_id, 0, 10)
    assert [(view.frame, view.state, view.seconds) for view in views] == [
        (n, TaskState.DONE, 3.0) for n in range(1, 6)
    ]
    assert [output.name for output in views[0].outputs] == [f"{job_id}/1/finish"]
    told = list(events.after(farm, LOCAL_OWNER, 0, job_id))
    states = [event.data["state"] for event in told if event.kind == "job.state"]
    assert states == ["waiting", "inspecting", "rendering", "done"]
    assert len([event for event in told if event.kind == "output.committed"]) == 5


async def test_a_cancelled_job_ends_and_its_render_is_killed(farm: Farm) -> None:
    async def slow(order: Order) -> Result | Failure:
        if order.kind is not TaskKind.INSPECT:
            await asyncio.sleep(60)
        return await obedient(order)

    job_id = submit(farm, frames="1-5")
    async with dispatching(farm, ScriptedCluster(1, slow)):
        async with asyncio.timeout(10):
            while not jobs.get(farm, LOCAL_OWNER, job_id).frames.running:
                await asyncio.sleep(0.05)
        assert jobs.cancel(farm, LOCAL_OWNER, job_id).cancelling
        job = await until_ended(farm, job_id)
        assert job.state is JobState.CANCELLED
        assert job.frames.cancelled == 5
        async with asyncio.timeout(5):
            while status.pulse(farm, LOCAL_OWNER).workers[0].state != "idle":
                await asyncio.sleep(0.05)


async def test_a_worker_that_dies_is_replaced_and_its_frame_is_rendered_again(farm: Farm) -> None:
    cluster = ScriptedCluster(1)

    async def dies_once(order: Order) -> Result | Failure:
        if order.kind is TaskKind.FRAME:
            cluster.script = obedient
            cluster.workers["w1"].script = obedient
            await cluster.workers["w1"].kill()
        return await obedient(order)

    cluster.script = dies_once
    job_id = submit(farm, frames="1-3")
    async with dispatching(farm, cluster):
        job = await until_ended(farm, job_id)
    assert job.state is JobState.DONE
    [lost] = attempts.listed(farm, LOCAL_OWNER, job_id, failed=True)
    assert (lost.state, lost.what) == ("lost", "w1 died.")


async def test_a_dispatcher_that_is_killed_and_replaced_loses_and_doubles_nothing(farm: Farm) -> None:
    async def steady(order: Order) -> Result | Failure:
        await asyncio.sleep(0.15)
        return await obedient(order)

    cluster = ScriptedCluster(2, steady)  # its workers outlive the dispatcher, as detached actors do
    job_id = submit(farm, frames="1-8", tiles="2x1")
    for _ in range(4):
        async with dispatching(farm, cluster):
            await asyncio.sleep(0.6)
    async with dispatching(farm, cluster):
        job = await until_ended(farm, job_id)
    assert job.state is JobState.DONE
    tries = attempts.listed(farm, LOCAL_OWNER, job_id, failed=False)
    done = [attempt.task for attempt in tries if attempt.state == "done"]
    assert len(done) == len(set(done)) == 1 + 8 * 3
    assert all(attempt.state in ("done", "lost") for attempt in tries)
    views = frames.listed(farm, LOCAL_OWNER, job_id, 0, 8)
    assert all(len(view.outputs) == 1 for view in views)
    assert {view.seconds for view in views} == {3.0}


async def test_a_dispatcher_that_was_replaced_writes_nothing_when_it_wakes(farm: Farm) -> None:
    async with dispatching(farm, ScriptedCluster(1)) as old:
        async with asyncio.timeout(10):
            while not status.pulse(farm, LOCAL_OWNER).workers:
                await asyncio.sleep(0.05)
        with farm.store.write() as connection:
            head.take(connection, 1.0)
        job_id = submit(farm, frames="1")
        with pytest.raises(head.Fenced):
            await asyncio.wait_for(old, 10)
    assert jobs.get(farm, LOCAL_OWNER, job_id).state is JobState.WAITING


async def test_a_scene_with_errors_fails_with_its_report(farm: Farm) -> None:
    error = Finding(code="no-camera", weight=Weight.ERROR, what="It has no camera.", cure="Add one.")

    async def blind(order: Order) -> Result | Failure:
        return Result(report=report(findings=(error,)))

    job_id = submit(farm)
    async with dispatching(farm, ScriptedCluster(1, blind)):
        job = await until_ended(farm, job_id)
    assert (job.state, job.error, job.cure) == (JobState.FAILED, "It has no camera.", "Add one.")
    assert job.report is not None
    assert job.report.findings == (error,)


async def test_a_frame_that_always_fails_is_explained_and_the_rest_is_done(farm: Farm) -> None:
    async def bad_two(order: Order) -> Result | Failure:
        if order.task.endswith("/2/whole"):
            return Failure(cause=Cause.CRASH, what="Blender crashed (SIGSEGV).", log_tail="boom")
        return await obedient(order)

    job_id = submit(farm, frames="1-4")
    async with dispatching(farm, ScriptedCluster(2, bad_two)):
        job = await until_ended(farm, job_id)
    assert job.state is JobState.FAILED
    assert (job.frames.done, job.frames.failed) == (3, 1)
    assert "Frame 2: Blender crashed (SIGSEGV). (3 tries)" in job.error
    failed = attempts.listed(farm, LOCAL_OWNER, job_id, failed=True)
    assert {attempt.log_tail for attempt in failed} == {"boom"}
    assert {attempt.words for attempt in failed} == {"frame 2"}
