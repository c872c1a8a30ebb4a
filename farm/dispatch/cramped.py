"""Tasks that wait for a worker with more memory, after the last one with enough has gone.

They wait for it as frames wait for their render class; then the frame begins anew on another class, where
that is allowed, or fails.
"""

from __future__ import annotations

from farm.dispatch.anew import move_frame
from farm.dispatch.desk import Desk
from farm.dispatch.ends import end_frame, end_job, maybe_end
from farm.dispatch.fitness import fits_into, memory_for
from farm.dispatch.ladder import way_out
from farm.dispatch.policy import CLASS_PATIENCE, may_take
from farm.dispatch.refusals import gigabytes, too_big
from farm.dispatch.state import Job, Task
from farm.domain.states import JobEvent, TaskEvent, TaskState

_EVERY = 1.0


def tend(desk: Desk) -> None:
    """Those whose patience has ended."""
    state = desk.state
    if not state.cramped or 0 <= desk.now - state.cramped_seen < _EVERY:
        return
    state.cramped_seen = desk.now
    for key in list(state.cramped):
        job = state.jobs.get(key.job_id)
        task = None if job is None else job.tasks.get(key)
        if job is None or task is None or not task.picky:
            del state.cramped[key]
        elif not _starves(desk, job, task):
            state.cramped[key] = None
        elif (since := state.cramped[key]) is None:
            state.cramped[key] = desk.now
        elif desk.now - since >= CLASS_PATIENCE:
            del state.cramped[key]
            _no_more(desk, job, task)


def _starves(desk: Desk, job: Job, task: Task) -> bool:
    """Whether workers are here that could do this task, but for their memory."""
    if task.state is not TaskState.WAITING:
        return False
    frame = None if task.key.frame is None else job.frames[task.key.frame]
    able = desk.roster.offering(job, () if frame is None else frame.foreign)
    if any(may_take(job, task, worker) for worker in able):
        return False
    return not all(fits_into(job, task, worker) for worker in able)


def _no_more(desk: Desk, job: Job, task: Task) -> None:
    of_host = not task.memory or all(
        memory_for(job, task, worker) >= task.memory for worker in desk.state.workers.values()
    )
    needed = task.host_memory if of_host else task.memory
    had = needed - 1
    frame = None if task.key.frame is None else job.frames[task.key.frame]
    move = way_out(job, task, had, desk.state.workers.values(), host=of_host)
    if frame is not None and move is not None:
        move_frame(desk, job, frame, move, needed, host=of_host)
        return
    what = f"It does not fit into {gigabytes(had)} of memory, and no worker is left that has more."
    cure = too_big(had, allowed=job.control.other_class)
    desk.end_task(job, task, TaskEvent.FAIL)
    if frame is None:
        end_job(desk, job, JobEvent.FAILED, what, cure)
        return
    end_frame(desk, job, frame, TaskEvent.FAIL, f"{what} {cure}")
    maybe_end(desk, job)
