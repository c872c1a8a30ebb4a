"""What the service is asked for, a dispatcher does: pause, dependencies, limits, frames once more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from farm.domain.control import Control, ControlChange
from farm.domain.events import EventKind
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.states import JobState
from farm.domain.task import TaskKind
from farm.domain.views import FramesRequest, LimitRequest
from farm.domain.work import Failure, Order, Result
from farm.service import attempts, control, events, jobs, limits, provenance
from farm.service.context import Farm
from tests.fakes.cluster import ScriptedCluster, obedient
from tests.integration.dispatch.test_loop import dispatching, farm, until_ended
from tests.postgres import postgres
from tests.unit.dispatch.play import MANIFEST

__all__ = ["farm", "postgres"]


def submit(farm: Farm, frames: str = "1-4", **wishes: object) -> str:
    spec = JobSpec(
        name="One",
        scene_id=MANIFEST.scene_id,
        settings=RenderSettings(frames=frames, tiles="none"),
        control=Control.model_validate(wishes),
    )
    return jobs.submit(farm, LOCAL_OWNER, spec).id


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.02)


async def test_a_paused_job_begins_nothing_until_it_is_resumed(farm: Farm) -> None:
    job_id = submit(farm, paused=True)
    async with dispatching(farm, ScriptedCluster(2)):
        await until(lambda: jobs.get(farm, LOCAL_OWNER, job_id).waits)
        assert attempts.listed(farm, LOCAL_OWNER, job_id, failed=False) == []
        view = control.change(farm, LOCAL_OWNER, job_id, ControlChange(paused=False))
        assert not view.control.paused
        job = await until_ended(farm, job_id)
    assert (job.state, job.frames.done, job.waits, job.control) == (JobState.DONE, 4, "", Control())
    told = events.after(farm, LOCAL_OWNER, 0, job_id)
    (changed,) = [event.data for event in told if event.kind == EventKind.JOB_CONTROL]
    assert changed == {"control": Control().model_dump(mode="json")}
    made = provenance.of_frame(farm, LOCAL_OWNER, job_id, 1)
    assert len(made.counts) == 1
    assert made.attempts[-1].made is not None


async def test_a_job_waits_for_the_one_before_and_says_so(farm: Farm) -> None:
    first = submit(farm, paused=True)
    second = submit(farm, after=(first,))
    async with dispatching(farm, ScriptedCluster(2)):
        await until(lambda: first in jobs.get(farm, LOCAL_OWNER, second).waits)
        control.change(farm, LOCAL_OWNER, first, ControlChange(paused=False))
        await until_ended(farm, second)
    began = {
        job_id: min(one.started for one in attempts.listed(farm, LOCAL_OWNER, job_id, failed=False))
        for job_id in (first, second)
    }
    ended = jobs.get(farm, LOCAL_OWNER, first).ended
    assert ended is not None
    assert began[first] < ended <= began[second]


async def test_a_users_limit_holds_over_all_their_jobs(farm: Farm) -> None:
    most = running = 0

    async def counted(order: Order) -> Result | Failure:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return await obedient(order)

    limits.put(farm, LOCAL_OWNER, LOCAL_OWNER.user_id, LimitRequest(workers=2))
    both = [submit(farm), submit(farm)]
    async with dispatching(farm, ScriptedCluster(4, counted)):
        for job_id in both:
            assert (await until_ended(farm, job_id)).state is JobState.DONE
    assert most == 2


async def test_frames_that_render_are_begun_again_by_name(farm: Farm) -> None:
    held: set[str] = set()

    async def slow_at_first(order: Order) -> Result | Failure:
        if order.kind is TaskKind.FRAME and order.task not in held:
            held.add(order.task)
            await asyncio.sleep(60)
        return await obedient(order)

    job_id = submit(farm, frames="1-2")
    async with dispatching(farm, ScriptedCluster(2, slow_at_first)):
        await until(lambda: len(held) == 2)
        control.requeue(farm, LOCAL_OWNER, job_id, FramesRequest(frames="1-2"))
        job = await until_ended(farm, job_id)
    assert (job.state, job.frames.done) == (JobState.DONE, 2)
    for frame in (1, 2):
        made = provenance.of_frame(farm, LOCAL_OWNER, job_id, frame)
        assert len(made.attempts) == 2
        assert made.counts == (made.attempts[-1].id,)
