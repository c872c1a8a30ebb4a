"""What an idle worker is given: which task, opened if need be, and the start of an attempt at it."""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch.desk import Desk
from farm.dispatch.fitness import device_of
from farm.dispatch.orders import order_for
from farm.dispatch.planned import begin
from farm.dispatch.policy import class_on, fits, in_order, in_turn, may_open
from farm.dispatch.state import Attempt, Earlier, Frame, Job, Piece, Task, Worker
from farm.domain.plan import Plan
from farm.domain.states import JobState, TaskEvent, TaskState
from farm.domain.task import TaskKey, TaskKind


def next_task(desk: Desk, job: Job, worker: Worker, now: float) -> Task | None:
    """The job's most urgent task that this worker may take now; the next frame's, where none is open."""
    if job.state is JobState.WAITING:
        begin(desk, job)
    if not in_turn(job, worker, desk.state.workers):
        return None
    workers = desk.state.workers.values()
    for task in in_order(job):
        if fits(job, task, worker, workers, now):
            return task
    while job.plan is not None and may_open(job, worker, workers, now):
        for task in _open_frame(desk, job, job.plan):
            if fits(job, task, worker, workers, now):
                return task
    return None


def _open_frame(desk: Desk, job: Job, plan: Plan) -> list[Task]:
    """The plan's next frame: its tasks, but for pieces that an earlier job left."""
    number = plan.frame_range[job.opened]
    job.opened += 1
    frame = job.frames[number] = Frame(number)
    desk.out.append(do.FrameOpened(job.id, number, job.opened))
    earlier = job.ahead.pop(number, Earlier())
    if earlier.render_class is not None:
        frame.render_class = earlier.render_class
        desk.out.append(do.ClassSettled(job.id, number, earlier.render_class))
    frame.pieces = {tile: Piece(ref) for tile, ref in earlier.pieces.items() if tile < plan.taken}
    if job.proves is not None:
        keys = [TaskKey(job.id, TaskKind.VERIFY, number)]
    elif plan.pieces_per_frame:
        missing = [tile for tile in range(plan.pieces_per_frame) if tile not in frame.pieces]
        keys = [TaskKey(job.id, TaskKind.TILE, number, tile) for tile in missing]
    else:
        keys = [TaskKey(job.id, TaskKind.FRAME, number)]
    return [desk.open_task(job, key) for key in keys]


def start(desk: Desk, job: Job, task: Task, worker: Worker, now: float) -> None:
    """A new attempt, and the order for it."""
    worker_id = worker.info.worker_id
    attempt = Attempt(desk.new_attempt_id(), task.key, worker_id, now, moved=now)
    desk.step_task(task, TaskEvent.START)
    task.attempt = worker.attempt = attempt.id
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


def _settle_class(desk: Desk, job: Job, frame: Frame, key: TaskKey, worker: Worker) -> None:
    """The first piece's worker decides where the rest of the frame may be rendered."""
    render_class = class_on(worker, device_of(job, frame))
    if key.kind is TaskKind.TILE and frame.render_class is None and render_class is not None:
        frame.render_class = render_class
        desk.out.append(do.ClassSettled(job.id, frame.number, render_class))
