"""The dispatcher on a real database, with workers that obey a script."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from farm.cluster import WorkerGone
from farm.dispatch import events as told
from farm.dispatch.anew import move_stranded
from farm.dispatch.fleet import Told
from farm.dispatch.instructions import CancelAttempt, Instruction, SendOrder
from farm.dispatch.journal import Journal
from farm.dispatch.loop import Dispatcher
from farm.dispatch.recovery import load_state
from farm.domain.events import EventKind
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
from tests.fakes.cluster import ScriptedCluster, ScriptedWorker, obedient
from tests.postgres import postgres
from tests.unit.dispatch.play import AVX2, MANIFEST, SSE, Play, report, worker

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
    assert [output.name for output in views[0].outputs] == [f"{job_id}-1-finish"]
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


async def test_a_frame_whose_render_class_is_gone_begins_anew_and_is_one_result(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farm.dispatch.anew.CLASS_PATIENCE", 0.3)
    cluster = ScriptedCluster(1)

    async def dies(order: Order) -> Result | Failure:
        if order.task.endswith("tile-1"):  # its machine comes back with another processor
            cluster.render_class = SSE
            cluster.script = partial(obedient, render_class=SSE)
            await cluster.workers["w1"].kill()
        return await obedient(order)

    cluster.script = dies
    job_id = submit(farm, frames="7", tiles="2x1")
    async with dispatching(farm, cluster):
        job = await until_ended(farm, job_id)
    assert job.state is JobState.DONE
    frame = frames.get(farm, LOCAL_OWNER, job_id, 7)
    assert (frame.seconds, frame.error, len(frame.outputs)) == (3.0, "", 1)
    tries = attempts.listed(farm, LOCAL_OWNER, job_id, failed=False)
    assert sorted(attempt.state for attempt in tries if attempt.task.endswith("tile-0")) == [
        "done",
        "dropped",
    ]
    told = events.after(farm, LOCAL_OWNER, 0, job_id)
    whys = [event.data.get("why") for event in told if event.kind == EventKind.FRAME_STATE]
    assert [why for why in whys if why] == [
        f"No worker is left with {AVX2}, so this frame is rendered again on another."
    ]


async def test_a_dispatcher_that_dies_while_a_frame_waits_for_its_class_goes_on_with_it(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between dropping its pieces and starting again there is a moment at which all of it only waits."""
    monkeypatch.setattr("farm.dispatch.anew.CLASS_PATIENCE", 0.0)
    play = Play()
    play.join(worker("w1"))
    job_id = submit(farm, frames="7", tiles="2x1")
    records: list[Instruction] = []
    apply = play.apply
    monkeypatch.setattr(play, "apply", lambda out: (records.extend(out), apply(out)))
    play.submit(job_id, frames="7", tiles="2x1")
    for _ in range(3):
        play.succeed(play.orders()[0])  # the inspection and both tiles: the finish is on its way
    play.lose("w1")
    other = worker("w2", render_class=SSE.model_copy(update={"blender": "5.3.0 def"}))
    records += (out := play.core.handle(told.WorkerJoined(other), play.now))
    for job in play.core.state.jobs.values():
        move_stranded(play.core._desk, job, play.now)
    records += play.core._desk.drain()
    assert out
    with farm.store.write() as connection:
        journal = Journal(connection, 5.0)
        for record in records:
            if not isinstance(record, SendOrder | CancelAttempt):
                journal.write(record)
        journal.flush()
        state = load_state(connection)
    assert state.attempts == {}
    [again] = state.jobs.values()
    assert again.frames[7].pieces == {}
    assert again.frames[7].render_class is None
    assert {str(key): task.state for key, task in again.tasks.items()} == dict.fromkeys(
        (f"{job_id}/7/tile-0", f"{job_id}/7/tile-1", f"{job_id}/7/finish"), TaskState.WAITING
    )
    async with dispatching(farm, ScriptedCluster(1)):
        job_view = await until_ended(farm, job_id)
    assert job_view.state is JobState.DONE


async def test_an_order_that_arrives_though_its_answer_is_lost_costs_no_try(farm: Farm) -> None:
    class Deaf(ScriptedWorker):
        deaf = True

        async def start(self, order: Order) -> None:
            await super().start(order)
            if order.kind is TaskKind.FRAME and self.deaf:
                self.deaf = False
                raise WorkerGone("the connection broke")

    async def slow_at_first(order: Order) -> Result | Failure:
        await asyncio.sleep(1 if order.kind is TaskKind.FRAME and len(deaf.orders) == 2 else 0)
        return await obedient(order)

    cluster = ScriptedCluster(1)
    deaf = cluster.workers["w1"] = Deaf(worker("w1"), slow_at_first)
    job_id = submit(farm, frames="1-3")
    async with dispatching(farm, cluster):
        job = await until_ended(farm, job_id)
    assert job.state is JobState.DONE
    assert not deaf.dead
    assert len(deaf.orders) == 4  # the inspection and three frames, each once
    assert attempts.listed(farm, LOCAL_OWNER, job_id, failed=True) == []


async def test_workers_get_work_while_storage_is_too_slow_to_delete_anything(farm: Farm) -> None:
    let_go = threading.Event()

    class Stuck(MemoryStorage):
        def delete(self, keys: Iterable[str]) -> None:
            let_go.wait(20)
            super().delete(keys)

    job_id = submit(farm, frames="1-3", tiles="2x1")
    try:
        async with dispatching(replace(farm, storage=Stuck()), ScriptedCluster(1)):
            job = await until_ended(farm, job_id)
            assert not let_go.is_set()
    finally:
        let_go.set()
    assert job.state is JobState.DONE


async def test_a_head_that_was_replaced_acknowledges_nothing_to_its_workers(farm: Farm) -> None:
    dispatcher = Dispatcher(farm.store, farm.storage, ScriptedCluster(1), clock=lambda: 1.0)
    dispatcher._turns.take([])
    with farm.store.write() as connection:
        head.take(connection, 1.0)
    of_the_new_head = told.Failed("a-of-the-new-head", Failure(cause=Cause.CRASH, what="It crashed."))
    with pytest.raises(head.Fenced):
        dispatcher._turns.take([Told([of_the_new_head])])
