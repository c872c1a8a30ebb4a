"""Work that is done again: frames whose render class is gone, and pieces that are at fault."""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch import late, standing
from farm.dispatch.covering import cover_of
from farm.dispatch.desk import Desk
from farm.dispatch.ends import end_frame, maybe_end
from farm.dispatch.ladder import Move
from farm.dispatch.policy import CLASS_PATIENCE, can_render, meets, stranded
from farm.dispatch.refusals import cannot_verify
from farm.dispatch.state import Frame, Job, Piece, Task
from farm.domain.job import Device
from farm.domain.states import JobState, TaskEvent, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure


def move_stranded(desk: Desk, job: Job, now: float) -> None:
    """Frames whose render class is gone wait a while for it, then begin anew on what is there.

    A verification has no other class to go to: it fails.
    """
    cut_up = job.plan is not None and (
        job.plan.pieces_per_frame or any(frame.recuts for frame in job.frames.values())
    )
    if not (cut_up or job.proves) or job.state is not JobState.RENDERING:
        return
    able = desk.roster.offering(job)
    device, needs = job.settings.device, job.control.needs
    could = any(can_render(worker, device) and meets(worker, needs, device) for worker in able)
    for frame in list(job.frames.values()):
        if frame.render_class is None and job.proves is None:
            continue
        tasks = desk.tasks_of(job, frame.number)
        those = desk.roster.offering(job, frame.foreign) if frame.foreign else able
        if not (could and stranded(job, tasks, those, now)):  # else it just waits for workers
            frame.stranded = None
            job.gone -= {frame.render_class}
            continue
        frame.stranded = now if frame.stranded is None else frame.stranded
        patient = now - frame.stranded < CLASS_PATIENCE
        if job.proves is not None:
            if frame.render_class is None or frame.render_class in job.gone or not patient:
                _give_up(desk, job, frame, tasks)
            if job.id not in desk.state.jobs:
                return
        elif not frame.pieces or not patient:
            begin_anew(desk, job, frame, tasks)


def _give_up(desk: Desk, job: Job, frame: Frame, waiting: list[Task]) -> None:
    """The frame fails. What was waited for once is not waited for again with each frame."""
    if frame.render_class is not None:
        job.gone.add(frame.render_class)
    for task in waiting:
        desk.end_task(job, task, TaskEvent.FAIL)
    end_frame(desk, job, frame, TaskEvent.FAIL, cannot_verify(job, frame))
    maybe_end(desk, job)


def begin_anew(
    desk: Desk, job: Job, frame: Frame, waiting: list[Task], why: str = "", device: Device | None = None
) -> None:
    """A frame stays in one class, so one that must leave its own is rendered again as a whole.

    A finish that was opened waits on, until it has all its pieces again. ``device``: that it moves to.
    """
    why = why or f"No worker is left with {frame.render_class}, so this frame is rendered again on another."
    device = device or frame.device
    if frame.state is not TaskState.WAITING:  # as one is that has only an earlier job's pieces
        desk.step_frame(job, frame, TaskEvent.ANEW)
    desk.out.append(do.FrameAnew(job.id, frame.number, why, device, frame.recuts))
    late.drop(desk, job, frame)
    for task in waiting:
        task.failed_on.clear()
        if task.renders:
            task.renders = 0
            desk.task_changed(task)
    there = cover_of(job, frame) or frame.pieces  # beside a cover, what is there has lost the race
    coming = {task.key.tile for task in waiting if task.key.tile is not None} | frame.pieces.keys()
    wanted = job.plan_of(frame).wanted(coming) if frame.recuts else coming
    for tile in [tile for tile in there if tile in wanted]:
        _wait_again(desk, job, TaskKey(job.id, TaskKind.TILE, frame.number, tile), frame.pieces[tile])
    job.frames[frame.number] = Frame(frame.number, frame.state, recuts=frame.recuts, device=device)
    desk.boards[job.id].refile(frame.number)


def move_frame(desk: Desk, job: Job, frame: Frame, move: Move, memory: int, *, host: bool) -> None:
    """A frame that has too little memory where it is begins anew as a whole where there are ``memory`` bytes.

    What else of it is rendered in its old class is given up.
    """
    tasks = [task for task in job.tasks.values() if task.key.frame == frame.number]
    for task in tasks:
        if task.attempt is not None:
            desk.recall(task)
    begin_anew(desk, job, frame, tasks, move.why, move.device)
    for task in job.tasks.values():
        if task.key.frame == frame.number and task.key.kind in (TaskKind.FRAME, TaskKind.TILE):
            task.need(memory, host=host)
            desk.state.cramped.setdefault(task.key)
    desk.boards[job.id].refile(frame.number)


def at_fault(job: Job, frame: Frame | None, key: TaskKey, failure: Failure) -> tuple[int, ...]:
    """The pieces that a failed finish blames, of those that it had."""
    if frame is None or key.kind is not TaskKind.FINISH:
        return ()
    return tuple(sorted(set(cover_of(job, frame) or ()) & set(failure.pieces)))


def pieces_anew(desk: Desk, job: Job, frame: Frame, pieces: tuple[int, ...], why: str) -> None:
    """Pieces at fault are rendered again, elsewhere if there is an elsewhere; the finish waits for them."""
    desk.out.append(do.PiecesAnew(job.id, frame.number, pieces, why))
    late.drop(desk, job, frame, pieces)
    for tile in pieces:
        piece = frame.pieces.pop(tile)
        key = TaskKey(job.id, TaskKind.TILE, frame.number, tile)
        task = _wait_again(desk, job, key, piece, piece.ref.renders)
        if piece.by is not None:
            task.failed_on.add(piece.by)
            standing.blame(desk, key, piece.by, Cause.BAD_RESULT)


def _wait_again(desk: Desk, job: Job, key: TaskKey, piece: Piece, renders: int = 0) -> Task:
    """The task of a piece that was there, open again. One of an earlier job never was a task of this."""
    if piece.by is None:
        task = desk.open_task(job, key)
        task.renders = renders
    else:
        task = job.tasks[key] = Task(key, TaskState.DONE, renders=renders)
        desk.step_task(task, TaskEvent.ANEW)
    desk.task_changed(task)
    return task
