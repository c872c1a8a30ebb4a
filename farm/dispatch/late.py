"""Attempts that were given up for lost, and whose workers come back after all.

What one brings is as good as any other result: where its task is still open it is committed, and the
newer attempt at the task is cancelled. Where the task has ended, or was begun anew, it is dropped. A
worker that comes back while it still renders goes on: its attempt is the task's again where the task
waits; where another is at it already, whoever is first counts.

`State.lost` remembers so many of them as there can be workers; older ones are forgotten, and cancelled
like what nobody knows.
"""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch.desk import Desk
from farm.dispatch.policy import may_take
from farm.dispatch.state import Attempt, Frame, Job, Task, Worker
from farm.domain.states import TaskEvent, TaskState
from farm.domain.task import TaskKind

MOST_LOST = 10_000


def remember(desk: Desk, attempt: Attempt) -> None:
    """An attempt was given up for lost."""
    lost = desk.state.lost
    lost[attempt.id] = attempt
    if len(lost) > MOST_LOST:
        _let_go(desk, next(iter(lost.values())))


def open_still(desk: Desk, attempt_id: str) -> Attempt | None:
    """The lost attempt of this id, where its task is open; None where it is not, or where it is unknown."""
    attempt = desk.state.lost.get(attempt_id)
    return None if attempt is None or _open_task(desk, attempt) is None else attempt


def take_over(desk: Desk, job: Job, task: Task, attempt: Attempt) -> None:
    """The task is this attempt's again, so that its result can be committed; a newer one is killed."""
    del desk.state.lost[attempt.id]
    desk.kill(task)
    _run(desk, job, task)


def goes_on(desk: Desk, worker: Worker, attempt_id: str) -> bool:
    """Whether a worker that comes back with a lost attempt is to end it; if it can, it runs again."""
    attempt = desk.state.lost.get(attempt_id)
    task = None if attempt is None else _open_task(desk, attempt)
    if attempt is None or task is None or attempt.worker_id != worker.info.worker_id:
        return False
    job = desk.state.jobs[attempt.key.job_id]
    if task.attempt is not None:
        return job.plan is None or not job.plan.in_order  # there nothing runs beside a frame
    if not _could_take(job, task, worker) or not _alone(job):
        return False
    del desk.state.lost[attempt_id]
    frame = _run(desk, job, task)
    task.attempt = attempt_id
    task.failed_on.discard(attempt.worker_id)  # it was not lost there after all; nor does the database say so
    attempt.moved, attempt.watched = desk.now, False
    desk.state.attempts[attempt_id] = attempt
    desk.out.append(do.AttemptResumed(attempt_id, attempt.key, worker.info.worker_id))
    desk.task_changed(task)
    if frame is not None and job.plan is not None and job.plan.in_order:
        job.bound = worker.info.worker_id
    return True


def drop(desk: Desk, job: Job, frame: Frame, pieces: tuple[int, ...] | None = None) -> None:
    """What lost attempts at a frame bring counts no more; with ``pieces``, at these and at its finish."""
    for attempt in list(desk.state.lost.values()):
        key = attempt.key
        if (key.job_id, key.frame) != (job.id, frame.number):
            continue
        if pieces is None or key.tile in pieces or key.kind is TaskKind.FINISH:
            _let_go(desk, attempt)


def sweep(desk: Desk) -> None:
    """Forget the lost attempts of tasks that are not open any more; what still renders them is stopped."""
    for attempt in list(desk.state.lost.values()):
        if _open_task(desk, attempt) is None:
            _let_go(desk, attempt)


def _open_task(desk: Desk, attempt: Attempt) -> Task | None:
    job = desk.state.jobs.get(attempt.key.job_id)
    return None if job is None else job.tasks.get(attempt.key)


def _could_take(job: Job, task: Task, worker: Worker) -> bool:
    """Its render class must still be the frame's; whether it is set aside is asked of new tasks only."""
    as_trusted = Worker(worker.info)
    return may_take(job, task, as_trusted)


def _alone(job: Job) -> bool:
    """Where frames depend on those before, nothing runs beside one."""
    in_order = job.plan is not None and job.plan.in_order
    return not in_order or all(task.attempt is None for task in job.tasks.values())


def _run(desk: Desk, job: Job, task: Task) -> Frame | None:
    """The task runs, and its frame, as they did before the attempt was lost; tells of the frame only."""
    if task.state is TaskState.WAITING:
        desk.step_task(task, TaskEvent.START)
    frame = None if task.key.frame is None else job.frames[task.key.frame]
    if frame is not None and frame.state is TaskState.WAITING:
        desk.step_frame(job, frame, TaskEvent.START)
        desk.frame_changed(job, frame, task.key.kind)
    return frame


def _let_go(desk: Desk, attempt: Attempt) -> None:
    del desk.state.lost[attempt.id]
    worker = desk.state.workers.get(attempt.worker_id)
    if worker is not None and worker.attempt == attempt.id:
        desk.out.append(do.CancelAttempt(attempt.worker_id, attempt.id))
