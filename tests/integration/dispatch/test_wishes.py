"""What users ask of jobs reaches the core by way of the database, and outlives the dispatcher."""

from __future__ import annotations

import asyncio

import pytest

from farm.dispatch.instructions import (
    ControlSet,
    CostsMeasured,
    FrameChanged,
    FrameOpened,
    FrameRecut,
    JobChanged,
    JobPlanned,
    JobWaits,
    WorkerSetAside,
)
from farm.dispatch.journal import Journal
from farm.dispatch.recovery import load_state
from farm.dispatch.state import Aside, Ended
from farm.domain.control import Control
from farm.domain.costs import Costs
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.plan import Plan, Recut
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKind
from farm.domain.work import Cause, Failure, Order, Result
from farm.service import attempts, frames, jobs
from farm.service.context import Farm
from farm.store import events, users
from farm.store import jobs as job_rows
from farm.store.events import IntentKind
from tests.fakes.cluster import ScriptedCluster, obedient
from tests.integration.dispatch.test_loop import dispatching, farm, submit, until_ended
from tests.postgres import postgres
from tests.unit.dispatch.play import MANIFEST

__all__ = ["farm", "postgres"]


def ask(farm: Farm, job_id: str, kind: IntentKind, data: dict[str, object] | None = None) -> None:
    with farm.store.write() as connection:
        events.leave_intent(connection, 1.0, job_id, kind, data)


async def no_second_frame(order: Order) -> Result | Failure:
    if "/2/" in order.task:
        return Failure(cause=Cause.CRASH, what="Blender crashed (SIGSEGV).")
    return await obedient(order)


@pytest.mark.parametrize("tiles", ["none", "2x1"])
async def test_a_job_that_failed_is_retried_by_the_next_dispatcher_and_only_what_failed_is_done_again(
    farm: Farm, tiles: str
) -> None:
    job_id = submit(farm, frames="1-4", tiles=tiles)
    async with dispatching(farm, ScriptedCluster(2, no_second_frame)):
        job = await until_ended(farm, job_id)
    assert (job.state, job.frames.done, job.frames.failed) == (JobState.FAILED, 3, 1)
    ask(farm, job_id, IntentKind.RETRY)
    async with dispatching(farm, ScriptedCluster(2)):
        async with asyncio.timeout(20):
            while jobs.get(farm, LOCAL_OWNER, job_id).state is JobState.FAILED:
                await asyncio.sleep(0.02)
    async with dispatching(farm, ScriptedCluster(2)):  # and by the one after that
        job = await until_ended(farm, job_id)
    assert (job.state, job.error, job.frames.done) == (JobState.DONE, "", 4)
    tries = attempts.listed(farm, LOCAL_OWNER, job_id, failed=False)
    done = [a.task for a in tries if a.state is AttemptState.DONE]
    assert len(done) == len(set(done))
    others = [a for a in tries if "/2/" not in a.task and a.state is not AttemptState.LOST]
    assert {a.state for a in others} == {AttemptState.DONE}
    [frame] = frames.listed(farm, LOCAL_OWNER, job_id, 1, 1)
    assert (frame.frame, frame.state, frame.error) == (2, TaskState.DONE, "")


async def test_a_cancelled_job_is_retried_with_what_was_never_opened(farm: Farm) -> None:
    async def slow(order: Order) -> Result | Failure:
        await asyncio.sleep(60 if "/3/" in order.task else 0)
        return await obedient(order)

    job_id = submit(farm, frames="1-5", tiles="none")
    async with dispatching(farm, ScriptedCluster(1, slow)):
        ask(farm, job_id, IntentKind.CONTROL, Control(order="turn").model_dump(mode="json"))
        async with asyncio.timeout(20):
            while not jobs.get(farm, LOCAL_OWNER, job_id).frames.running:
                await asyncio.sleep(0.02)
        ask(farm, job_id, IntentKind.CANCEL)
        job = await until_ended(farm, job_id)
    assert job.state is JobState.CANCELLED
    before = job.frames.done
    ask(farm, job_id, IntentKind.RETRY)
    async with dispatching(farm, ScriptedCluster(1)):
        async with asyncio.timeout(20):
            while jobs.get(farm, LOCAL_OWNER, job_id).state is not JobState.DONE:
                await asyncio.sleep(0.02)
    tries = attempts.listed(farm, LOCAL_OWNER, job_id, failed=False)
    done = [a for a in tries if a.state is AttemptState.DONE]
    assert len(done) == 1 + 5
    assert before < 5


async def test_frames_that_failed_are_queued_again_while_the_job_goes_on(farm: Farm) -> None:
    broken, held = True, asyncio.Event()

    async def broken_at_first(order: Order) -> Result | Failure:
        if "/2/" in order.task and broken:
            return Failure(cause=Cause.CRASH, what="Blender crashed (SIGSEGV).")
        if "/1/" in order.task:
            await held.wait()
        return await obedient(order)

    job_id = submit(farm, frames="1-3", tiles="none")
    async with dispatching(farm, ScriptedCluster(4, broken_at_first)):
        async with asyncio.timeout(20):
            while not jobs.get(farm, LOCAL_OWNER, job_id).frames.failed:
                await asyncio.sleep(0.02)
        broken = False
        ask(farm, job_id, IntentKind.REQUEUE)
        async with asyncio.timeout(20):
            while jobs.get(farm, LOCAL_OWNER, job_id).frames.done < 2:
                await asyncio.sleep(0.02)
        held.set()
        job = await until_ended(farm, job_id)
    assert (job.state, job.frames.done) == (JobState.DONE, 3)


async def test_a_paused_job_stays_so_over_a_restart_and_goes_on_when_it_is_resumed(farm: Farm) -> None:
    spec = JobSpec(
        name="One",
        scene_id=MANIFEST.scene_id,
        settings=RenderSettings(frames="1-2", tiles="none"),
        control=Control(paused=True, priority=70),
    )
    job_id = jobs.submit(farm, LOCAL_OWNER, spec).id
    for _ in range(2):
        async with dispatching(farm, ScriptedCluster(1)):
            await asyncio.sleep(0.6)
    job = jobs.get(farm, LOCAL_OWNER, job_id)
    assert job.frames.done == 0
    assert job.control == spec.control
    resumed = Control(priority=70)
    ask(farm, job_id, IntentKind.CONTROL, resumed.model_dump(mode="json"))
    async with dispatching(farm, ScriptedCluster(1)):
        job = await until_ended(farm, job_id)
    assert (job.state, job.control) == (JobState.DONE, resumed)


async def test_a_limit_on_a_users_workers_holds_at_once_and_over_a_restart(farm: Farm) -> None:
    busy: set[str] = set()
    most = 0

    async def counted(order: Order) -> Result | Failure:
        nonlocal most
        if order.kind is TaskKind.FRAME:
            busy.add(order.attempt_id)
            most = max(most, len(busy))
            await asyncio.sleep(0.1)
            busy.discard(order.attempt_id)
        return await obedient(order)

    with farm.store.write() as connection:
        assert users.limit(connection, LOCAL_OWNER.user_id, 1)
    job_id = submit(farm, frames="1-4", tiles="none")
    cluster = ScriptedCluster(3, counted)  # whose workers go on while nobody dispatches
    async with dispatching(farm, cluster):
        await asyncio.sleep(0.5)
    async with dispatching(farm, cluster):
        job = await until_ended(farm, job_id)
    assert job.state is JobState.DONE
    assert most == 1


def test_what_was_told_of_control_costs_and_revisions_is_read_back_as_it_was(farm: Farm) -> None:
    plan = Plan(frames="1-3", width=64, height=32, reason="whole frames")
    recuts = (Recut(grid="2x1"), Recut(of=0, grid="1x2", overlap=4, inner=(2048, 0)))
    control = Control(priority=70, after=("over", "gone"), frame_wise=True, workers=3)
    costs = Costs(seen=2.0, load=1.0, sync=0.5, render=8.25, spread=0.1, spent=20.0, paid=0.01)
    with farm.store.write() as connection:
        for job_id in ("over", "now"):
            spec = JobSpec(name=job_id, scene_id=MANIFEST.scene_id)
            job_rows.add(connection, job_id, LOCAL_OWNER, spec, 1.0)
        users.limit(connection, LOCAL_OWNER.user_id, 5)
        journal = Journal(connection, 9.0)
        for job_id in ("over", "now"):
            journal.write(JobPlanned(job_id, plan))
            journal.write(JobChanged(job_id, JobState.RENDERING))
            for frame in (1, 2):
                journal.write(FrameOpened(job_id, frame, frame))
        journal.write(FrameChanged("over", 1, TaskState.DONE, seconds=1.0))
        journal.write(FrameChanged("over", 2, TaskState.CANCELLED))
        journal.write(JobChanged("over", JobState.CANCELLED))
        journal.write(FrameChanged("now", 2, TaskState.FAILED, error="It is black."))
        journal.write(FrameChanged("now", 1, TaskState.RUNNING))
        journal.write(FrameRecut("now", 1, recuts, "it takes long"))
        journal.write(ControlSet("now", control))
        journal.write(JobWaits("now", "a worker with 24 GB"))
        journal.write(CostsMeasured("now", costs))
        journal.write(WorkerSetAside("w1", None, "Three jobs failed on it.", 2))
        journal.write(WorkerSetAside("w1", "now", "Three frames failed on it."))
        journal.write(WorkerSetAside("w2", None, "It is hot.", 1))
        journal.write(WorkerSetAside("w2", None, None))
        journal.flush()
        state = load_state(connection, 10.0)
    [job] = state.jobs.values()
    assert (job.owner, job.control, job.costs) == (LOCAL_OWNER.user_id, control, costs)
    assert job.waits == "a worker with 24 GB"
    assert (job.failed, job.failed_frames, job.first_error) == (
        1,
        {2: "It is black."},
        "Frame 2: It is black.",
    )
    assert job.frames[1].recuts == recuts
    assert job.plan_of(job.frames[1]).pieces == 4
    assert state.limits == {LOCAL_OWNER.user_id: 5}
    assert state.aside == {
        ("w1", None): Aside("Three jobs failed on it.", 2, 9.0),
        ("w1", "now"): Aside("Three frames failed on it.", 0, 9.0),
    }
    [(name, ended)] = state.ended.items()
    assert name == "over"
    assert isinstance(ended, Ended)
    assert ended.state is JobState.CANCELLED
    assert [number in ended.missing for number in (1, 2, 3)] == [False, True, True]
