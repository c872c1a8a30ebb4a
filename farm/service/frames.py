"""Frames of a job, and their tiles."""

from __future__ import annotations

from farm.domain.job import Principal
from farm.domain.plan import Plan
from farm.domain.states import JOB_ENDED, AttemptState, TaskState
from farm.domain.task import TaskKind
from farm.domain.views import FrameView, TileView
from farm.domain.work import Role
from farm.service.context import Farm
from farm.service.describe import describe_output, found, planned
from farm.store import Connection, frames, outputs, work
from farm.store.frames import FrameRow
from farm.store.jobs import JobRow
from farm.store.outputs import OutputRow
from farm.store.work import AttemptRow


def listed(farm: Farm, who: Principal, job_id: str, first: int, count: int) -> list[FrameView]:
    """``count`` frames from the ``first``-th of the plan on, without their tiles.

    A job that is not planned yet has none.
    """
    del who
    with farm.store.read() as connection:
        job = found(connection, job_id)
        if job.plan is None:
            return []
        numbers = job.plan.frame_range[first : first + count]
        rows = frames.of_job(connection, job_id, numbers)
        files = outputs.of_frames(connection, job_id, rows)
        running = _running(connection, job_id)
        return [_view(job, n, rows.get(n), files.get(n, []), running.get(n, [])) for n in numbers]


def get(farm: Farm, who: Principal, job_id: str, frame: int) -> FrameView:
    """One frame with its tiles; raises `NotFound`, or `Conflict` before the job is planned."""
    del who
    with farm.store.read() as connection:
        job = found(connection, job_id)
        whole = planned(job, frame)
        row = frames.of_job(connection, job_id, [frame]).get(frame)
        files = outputs.of_frames(connection, job_id, [frame])[frame]
        running = _running(connection, job_id).get(frame, [])
        view = _view(job, frame, row, files, running)
        plan = whole.recut(row.recuts) if row else whole
        tiles = _tiles(connection, job, plan, frame, view.state, files, running)
        return view.model_copy(update={"tiles": tiles})


def _running(connection: Connection, job_id: str) -> dict[int, list[AttemptRow]]:
    """Running attempts by frame: as many as the job has workers, not as many as it has frames."""
    found: dict[int, list[AttemptRow]] = {}
    for attempt in work.attempts_of_job(connection, job_id, [AttemptState.RUNNING]):
        if attempt.task.frame is not None:
            found.setdefault(attempt.task.frame, []).append(attempt)
    return found


def _view(
    job: JobRow, frame: int, row: FrameRow | None, files: list[OutputRow], running: list[AttemptRow]
) -> FrameView:
    whole = [output for output in files if output.tile is None and output.file.role is not Role.LOG]
    previews = [output.id for output in whole if output.file.role is Role.PREVIEW]
    shown = next((a for a in running if a.task.kind is not TaskKind.TILE), running[0] if running else None)
    never = TaskState.CANCELLED if job.state in JOB_ENDED else TaskState.WAITING
    return FrameView(
        frame=frame,
        state=row.state if row else never,
        finishing=bool(row and row.finishing),
        seconds=row.seconds if row else None,
        worker_id=shown.worker_id if shown else None,
        progress=shown.progress if shown else None,
        outputs=tuple(describe_output(output) for output in whole if output.file.role is not Role.PREVIEW),
        preview=previews[-1] if previews else None,
        error=row.error if row else "",
    )


def _tiles(
    connection: Connection,
    job: JobRow,
    plan: Plan,
    frame: int,
    state: TaskState,
    files: list[OutputRow],
    running: list[AttemptRow],
) -> tuple[TileView, ...]:
    states = {row.key.tile: row.state for row in work.tasks_of_frame(connection, job.id, frame)}
    previews = {o.tile: o.id for o in files if o.tile is not None and o.file.role is Role.PREVIEW}
    at_work = {attempt.task.tile: attempt for attempt in running if attempt.task.kind is TaskKind.TILE}
    never = TaskState.CANCELLED if state is TaskState.CANCELLED else TaskState.WAITING
    there = {tile for tile, of_tile in states.items() if tile is not None and of_tile is TaskState.DONE}
    if state is TaskState.DONE and plan.recuts and plan.cover(there) is None:
        return ()  # it came out whole before its pieces did
    tiles = []
    for index in plan.drawn(there):
        cut = plan.piece(index)
        box, part = cut.tile.core, cut.samples
        attempt = at_work.get(index)
        tiles.append(
            TileView(
                index=index,
                state=states.get(index, never),
                x=box.x,
                y=box.y,
                width=box.width,
                height=box.height,
                samples=None if part is None else (part.first, part.first + part.count),
                worker_id=attempt.worker_id if attempt else None,
                progress=attempt.progress if attempt else None,
                preview=previews.get(index),
            )
        )
    return tuple(tiles)
