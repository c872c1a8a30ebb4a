"""How a frame is opened, and how an attempt at a task starts."""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch.desk import Desk
from farm.dispatch.fitness import device_of
from farm.dispatch.orders import order_for
from farm.dispatch.policy import class_on
from farm.dispatch.state import Attempt, Earlier, Frame, Job, Piece, Task, Worker
from farm.dispatch.tail import cut_of
from farm.domain.plan import Plan
from farm.domain.states import TaskEvent, TaskState
from farm.domain.task import TaskKey, TaskKind


def open_next(desk: Desk, job: Job) -> None:
    """The plan's next frame, with its tasks. Raises ValueError without a plan, IndexError at its end."""
    if job.plan is None:
        raise ValueError(f"job {job.id} has no plan yet")
    number = job.plan.frame_at(job.opened)
    job.opened += 1
    frame = job.frames[number] = Frame(number)
    desk.out.append(do.FrameOpened(job.id, number, job.opened))
    open_tasks(desk, job, job.plan, frame, job.ahead.pop(number, Earlier()))


def open_tasks(desk: Desk, job: Job, plan: Plan, frame: Frame, earlier: Earlier) -> None:
    """The tasks of a frame of which nothing is made, but for pieces that an earlier job left."""
    number = frame.number
    if earlier.render_class is not None:
        desk.settle(job, frame, earlier.render_class)
        desk.unsure.add(job.id)  # whether a worker of that class is here
    frame.pieces = {tile: Piece(ref) for tile, ref in earlier.pieces.items() if tile < plan.taken}
    if job.proves is not None:
        keys = [TaskKey(job.id, TaskKind.VERIFY, number)]
        desk.unsure.add(job.id)
    elif revised := cut_of(desk, job, plan.count - job.opened + 1):
        frame.recuts, why = (revised[0],), revised[1]
        desk.out.append(do.FrameRecut(job.id, number, frame.recuts, why))
        pieces = job.plan_of(frame).parts[0]
        keys = [TaskKey(job.id, TaskKind.TILE, number, tile) for tile in pieces]
    elif plan.pieces_per_frame:
        missing = [tile for tile in range(plan.pieces_per_frame) if tile not in frame.pieces]
        keys = [TaskKey(job.id, TaskKind.TILE, number, tile) for tile in missing]
    else:
        keys = [TaskKey(job.id, TaskKind.FRAME, number)]
    for key in keys:
        desk.open_task(job, key)


def start(desk: Desk, job: Job, task: Task, worker: Worker, now: float) -> None:
    """A new attempt, and the order for it."""
    worker_id = worker.info.worker_id
    attempt = Attempt(desk.new_attempt_id(), task.key, worker_id, now, moved=now)
    desk.step_task(task, TaskEvent.START)
    task.attempt = worker.attempt = attempt.id
    _loads(job, task.key, worker)
    desk.worker_is(worker)
    if job.waits:
        job.waits = ""
        desk.out.append(do.JobWaits(job.id, ""))
    desk.state.attempts[attempt.id] = attempt
    frame = None if task.key.frame is None else job.frames[task.key.frame]
    if frame is not None:
        if job.plan is not None and job.plan.in_order:
            job.bound = worker_id
        _settle_class(desk, job, frame, task.key, worker)
        if frame.state is TaskState.WAITING:
            desk.step_frame(job, frame, TaskEvent.START)
            desk.frame_changed(job, frame, task.key.kind)
    desk.task_changed(task)
    desk.out += [
        do.AttemptStarted(attempt.id, task.key, worker_id),
        do.WorkerChanged(worker_id, worker.info, attempt.id),
        do.SendOrder(worker_id, order_for(job, task.key, frame, attempt.id)),
    ]


def _loads(job: Job, key: TaskKey, worker: Worker) -> None:
    """What the worker has loaded from now on. Only what renders stays; for another scene all of it goes."""
    if key.kind in (TaskKind.INSPECT, TaskKind.FRAME, TaskKind.TILE):
        worker.scene_id = job.scene_id
        worker.frame = None if key.frame is None else (job.id, key.frame)
    elif worker.scene_id != job.scene_id:
        worker.scene_id = worker.frame = None


def _settle_class(desk: Desk, job: Job, frame: Frame, key: TaskKey, worker: Worker) -> None:
    """The first piece's worker decides where the rest of the frame may be rendered."""
    render_class = class_on(worker, device_of(job, frame))
    if key.kind is TaskKind.TILE and frame.render_class is None and render_class is not None:
        desk.settle(job, frame, render_class)
