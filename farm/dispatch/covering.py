"""Which pieces make a frame, now that its plan may have been revised: the one place that asks.

There may be several ways to a frame: whole, whole by another worker, in pieces, in finer ones. The first
that is complete counts. What is left of the others is given up, and a committed result stays.
"""

from __future__ import annotations

from farm.dispatch.desk import Desk
from farm.dispatch.state import Frame, Job
from farm.domain.task import TaskKey, TaskKind


def cover_of(job: Job, frame: Frame) -> tuple[int, ...] | None:
    """The pieces that are there and make the frame, each pixel once; None while they do not."""
    if job.plan is None:
        return None
    if frame.recuts:
        return job.plan_of(frame).cover(frame.pieces)
    number = job.plan.pieces_per_frame
    return tuple(range(number)) if number and len(frame.pieces) == number else None


def cut(job: Job, frame: Frame) -> bool:
    """Whether any piece of the frame may lie in storage."""
    return bool(frame.recuts) or (job.plan is not None and job.plan.pieces_per_frame > 0)


def give_up_others(desk: Desk, job: Job, frame: Frame) -> None:
    """A piece is there: what works on other ways to its pixels is cancelled, and on others to the frame."""
    if not frame.recuts:
        return
    plan, done = job.plan_of(frame), cover_of(job, frame) is not None
    for task in desk.tasks_of(job, frame.number):
        piece = task.key.tile
        if (done and task.key.kind is TaskKind.FRAME) or (
            piece is not None and plan.settled(piece, frame.pieces)
        ):
            desk.abandon(job, task)


def give_up_useless(desk: Desk, job: Job, frame: Frame) -> None:
    """A piece of the frame will never be: what is of use only beside it is cancelled."""
    if not frame.recuts:
        return
    pieces = [task for task in desk.tasks_of(job, frame.number) if task.key.tile is not None]
    coming = {task.key.tile for task in pieces if task.key.tile is not None} | frame.pieces.keys()
    wanted = job.plan_of(frame).wanted(coming)
    for task in pieces:
        if task.key.tile not in wanted:
            desk.abandon(job, task)


def other_way(job: Job, frame: Frame, key: TaskKey) -> bool:
    """Whether the frame can still be made where the task ``key`` fails."""
    others = [k for k in job.tasks if k.frame == frame.number and k != key]
    if key.kind not in (TaskKind.TILE, TaskKind.FRAME):
        return False
    if any(other.kind is TaskKind.FRAME for other in others):
        return True
    if not frame.recuts:
        return False
    coming = {other.tile for other in others if other.kind is TaskKind.TILE and other.tile is not None}
    return job.plan_of(frame).cover(coming | frame.pieces.keys()) is not None
