"""For what a job waits that has nothing running and cannot begin anything: one sentence, with a cure.

A job that only waits for its turn has none. Times are in UTC: “2026-12-01 19:00 UTC”.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from farm.dispatch.choosing import may_begin, may_open
from farm.dispatch.dependencies import in_circle, waits_for
from farm.dispatch.desk import Desk
from farm.dispatch.fitness import serves, trusts
from farm.dispatch.instructions import JobWaits
from farm.dispatch.policy import can_render, may_take, meets
from farm.dispatch.refusals import no_device
from farm.dispatch.state import Job, State, Task, Worker
from farm.domain.control import Needs
from farm.domain.job import Device
from farm.domain.states import JobState, TaskState

#: So many workers are named at most.
_NAMED = 3
_NONE = "No worker is here."


def tell(desk: Desk, jobs: Iterable[Job], now: float) -> None:
    """Write down for what each of these jobs waits now, where that is another thing than it was."""
    for job in jobs:
        why = "" if desk.boards[job.id].running else reason(desk, job, now)
        if why != job.waits:
            job.waits = why
            desk.out.append(JobWaits(job.id, why))


def reason(desk: Desk, job: Job, now: float) -> str:
    """For what the job waits, of which nothing runs; empty where it is but its turn."""
    if not may_begin(desk, job, now):
        return _wished(desk, job, now)
    return _frames(desk, job) or _with_failed(_workers(desk, job), desk.state.failed)


def _wished(desk: Desk, job: Job, now: float) -> str:
    """What its users' wishes make it wait for."""
    control = job.control
    if control.paused:
        return f"It is paused. Let it go on with: farm resume {job.id}"
    if control.start is not None and control.start > now:
        return f"It starts at {datetime.fromtimestamp(control.start, UTC):%Y-%m-%d %H:%M} UTC."
    other = waits_for(desk.state, job)
    if other is not None:
        return _other(desk.state, job, other, None)
    limit = desk.state.limits.get(job.owner, 0)
    many = "1 worker" if limit == 1 else f"{limit} workers"
    return f"{job.owner} may have {many} at most, and other jobs of {job.owner} have them."


def _frames(desk: Desk, job: Job) -> str:
    """The frame of another job that its next one comes after, where nothing else of it could be begun."""
    waiting = [task for task in job.tasks.values() if task.state is TaskState.WAITING]
    if not job.control.after or any(task.key.frame is None for task in waiting) or may_open(desk, job):
        return ""
    numbers = [task.key.frame for task in waiting]
    if job.plan is not None and job.opened < job.plan.count:
        numbers.append(job.plan.frame_at(job.opened))
    held_up = ""
    for number in numbers:
        other = waits_for(desk.state, job, number)
        if other is None:
            return ""
        held_up = held_up or _other(desk.state, job, other, number)
    return held_up


def _other(state: State, job: Job, other: str, frame: int | None) -> str:
    what = f"job {other}" if frame is None else f"frame {frame} of job {other}"
    if in_circle(state, job):
        return (
            f"It waits for {what}, which waits for this job in turn, so that neither can begin. "
            "Change what one of them comes after."
        )
    live = state.jobs.get(other)
    if live is not None and (frame is None or frame not in live.failed_frames):
        return f"It waits for {what}."
    ended = state.ended.get(other)
    if live is None and ended is None:
        return f"It waits for {what}."
    happened = "was cancelled" if ended is not None and ended.state is JobState.CANCELLED else "failed"
    return f"It waits for {what}, which {happened}. Have it done with: farm retry {other}"


def _workers(desk: Desk, job: Job) -> str:
    """Why no worker of the farm could take anything of it, were they all free."""
    workers = list(desk.state.workers.values())
    waiting = [task for task in job.tasks.values() if task.state is TaskState.WAITING]
    if not workers:
        return _NONE
    if _served(desk, job, waiting):
        return ""
    needs, device = job.control.needs, job.settings.device
    having = [worker for worker in workers if can_render(worker, device)]
    fitting = [worker for worker in having if meets(worker, needs, device)]
    could = [worker for worker in workers if _could(job, waiting, worker)] if waiting else fitting
    if could:
        return _none_serves(job, could)
    if not having:
        return no_device(device)[0]
    if not fitting:
        return _lacking(needs, device, having)
    classes = {str(frame.render_class) for frame in job.frames.values() if frame.render_class is not None}
    begun = f"begun with {' or '.join(sorted(classes))}" if classes else "begun"
    return f"No worker is here that could go on with the frames that were {begun}."


def _with_failed(why: str, failed: Mapping[str, str]) -> str:
    """Why no worker can take it; of those that cannot start nobody knows whether they could."""
    if not why or not failed:
        return why
    (name, reason), *others = sorted(failed.items())
    more = f" ({len(others)} more cannot either.)" if others else ""
    also = "" if why == _NONE else "It may be for one that is not here: "
    return f"{why} {also}{name} cannot start: {reason}{more}"


def _served(desk: Desk, job: Job, waiting: list[Task]) -> bool:
    """Whether a worker serves that could take something of the job: of each kind, one is asked."""
    samples = desk.roster.offering(job)
    if job.state is JobState.WAITING:
        return bool(samples)
    if waiting:
        return any(_could(job, waiting, sample) for sample in samples)
    needs, device = job.control.needs, job.settings.device
    return any(can_render(sample, device) and meets(sample, needs, device) for sample in samples)


def _could(job: Job, tasks: list[Task], worker: Worker) -> bool:
    """Whether this worker could take one of the tasks, were it here and trusted."""
    bare = Worker(worker.info)
    return any(may_take(job, task, bare) for task in tasks)


def _none_serves(job: Job, able: list[Worker]) -> str:
    if any(serves(worker) and trusts(job, worker) for worker in able):
        return ""
    named = [f"{worker.info.worker_id} ({_why_not(worker)})" for worker in able[:_NAMED]]
    more = f" and {len(able) - _NAMED} more" if len(able) > _NAMED else ""
    return f"All workers that could take it are away or set aside: {', '.join(named)}{more}."


def _why_not(worker: Worker) -> str:
    if worker.probing:
        return "being tried out"
    return worker.info.away or worker.aside or "set aside for this job"


def _lacking(needs: Needs, device: Device, having: list[Worker]) -> str:
    """What the job asks for that none of the workers has which have its device."""
    memory = f"{needs.memory / 2**30:.3g} GiB of memory"
    tags = ("the tag " if len(needs.tags) == 1 else "all the tags ") + ", ".join(f"“{t}”" for t in needs.tags)
    if not any(meets(worker, Needs(memory=needs.memory), device) for worker in having):
        lacking = memory
    elif any(meets(worker, Needs(tags=needs.tags), device) for worker in having):
        lacking = f"{memory} and {tags}"
    else:
        lacking = tags
    return f"No worker that could render it has {lacking}."
