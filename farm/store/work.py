"""Rows of tasks and their attempts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, Row, select, update

from farm.domain.states import TASK_ENDED, AttemptState, TaskState
from farm.domain.task import TaskKey
from farm.domain.work import Failure, Progress, Result
from farm.store.batch import Batch, batch_of
from farm.store.schema import attempts, frames, tasks


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task that was opened."""

    key: TaskKey
    state: TaskState
    failures: int
    losses: int
    renders: int


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One try. `result` and `failure` come without their files; those are rows of outputs."""

    id: str
    task: TaskKey
    worker_id: str
    state: AttemptState
    started: float
    ended: float | None
    progress: Progress | None
    result: Result | None
    failure: Failure | None


def open_task(where: Connection | Batch, key: TaskKey) -> None:
    """Give a task its row, waiting, or begin again with the one that it has; the dispatcher's alone."""
    values = {
        "job_id": key.job_id,
        "frame": key.frame,
        "tile": key.tile,
        "state": TaskState.WAITING.value,
        "failures": 0,
        "losses": 0,
        "renders": 0,
    }
    batch_of(where).put(tasks, (str(key),), values)


def change_task(where: Connection | Batch, key: TaskKey, **values: object) -> None:
    """Write some columns of a task; the dispatcher's alone."""
    batch_of(where).change(tasks, (str(key),), values)


def open_tasks(connection: Connection, job_id: str) -> list[TaskRow]:
    """Tasks that have not ended."""
    states = [state.value for state in TaskState if state not in TASK_ENDED]
    query = select(tasks).where(tasks.c.job_id == job_id, tasks.c.state.in_(states))
    return [_task(row) for row in connection.execute(query)]


def tasks_of_frame(connection: Connection, job_id: str, frame: int) -> list[TaskRow]:
    """Tasks of a frame that were opened, in whatever state."""
    query = select(tasks).where(tasks.c.job_id == job_id, tasks.c.frame == frame)
    return [_task(row) for row in connection.execute(query)]


def pieces_done(connection: Connection, job_ids: Iterable[str]) -> dict[tuple[str, int], list[int]]:
    """Pieces that are there of frames that are not done yet, by job and frame; of those that have any."""
    query = (
        select(tasks.c.job_id, tasks.c.frame, tasks.c.tile)
        .join(frames, (frames.c.job_id == tasks.c.job_id) & (frames.c.frame == tasks.c.frame))
        .where(
            frames.c.job_id.in_(list(job_ids)),
            frames.c.state == TaskState.RUNNING.value,
            tasks.c.tile.is_not(None),
            tasks.c.state == TaskState.DONE.value,
        )
        .order_by(tasks.c.job_id, tasks.c.frame, tasks.c.tile)
    )
    found: dict[tuple[str, int], list[int]] = {}
    for job_id, frame, tile in connection.execute(query):
        found.setdefault((job_id, frame), []).append(tile)
    return found


def start_attempt(
    where: Connection | Batch, attempt_id: str, key: TaskKey, worker_id: str, now: float
) -> None:
    """Note a try that begins; the dispatcher's alone."""
    values = {
        "task": str(key),
        "job_id": key.job_id,
        "worker_id": worker_id,
        "state": AttemptState.RUNNING.value,
        "started": now,
        "ended": None,
        "progress": None,
        "result": None,
        "failure": None,
    }
    batch_of(where).put(attempts, (attempt_id,), values)


def change_attempt(where: Connection | Batch, attempt_id: str, **values: object) -> None:
    """Write some columns of an attempt; the dispatcher's alone."""
    batch_of(where).change(attempts, (attempt_id,), values)


def drop_results(
    connection: Connection, job_id: str, frame: int, pieces: Iterable[int] | None = None
) -> None:
    """Attempts that were done at a frame's tasks, or at some of its pieces, count no more.

    Nor does what comes late of those that were lost, with ``pieces`` also at its finish. The dispatcher's
    alone.
    """
    of_frame = select(tasks.c.key).where(tasks.c.job_id == job_id, tasks.c.frame == frame)
    some = late = of_frame
    if pieces is not None:
        among = tasks.c.tile.in_(list(pieces))
        some, late = of_frame.where(among), of_frame.where(among | tasks.c.tile.is_(None))
    done = attempts.c.task.in_(some) & (attempts.c.state == AttemptState.DONE.value)
    lost = attempts.c.task.in_(late) & (attempts.c.state == AttemptState.LOST.value)
    connection.execute(update(attempts).where(done | lost).values(state=AttemptState.DROPPED.value))


def attempts_of_job(
    connection: Connection,
    job_id: str,
    states: Iterable[AttemptState] | None = None,
    limit: int | None = None,
) -> list[AttemptRow]:
    """Attempts of a job, newest first: ``limit`` of them, or all."""
    query = select(attempts).where(attempts.c.job_id == job_id).order_by(attempts.c.started.desc())
    if states is not None:
        query = query.where(attempts.c.state.in_([state.value for state in states]))
    return [_attempt(row) for row in connection.execute(query.limit(limit))]


def attempts_by_id(connection: Connection, ids: Iterable[str]) -> list[AttemptRow]:
    """Attempts of these ids, in no order."""
    query = select(attempts).where(attempts.c.id.in_(list(ids)))
    return [_attempt(row) for row in connection.execute(query)]


def attempts_of_tasks(connection: Connection, keys: Iterable[TaskKey]) -> list[AttemptRow]:
    """Attempts at these tasks, oldest first."""
    query = select(attempts).where(attempts.c.task.in_([str(key) for key in keys]))
    return [_attempt(row) for row in connection.execute(query.order_by(attempts.c.started))]


def _task(row: Row[tuple[object, ...]]) -> TaskRow:
    return TaskRow(TaskKey.parse(row.key), TaskState(row.state), row.failures, row.losses, row.renders)


def _attempt(row: Row[tuple[object, ...]]) -> AttemptRow:
    return AttemptRow(
        id=row.id,
        task=TaskKey.parse(row.task),
        worker_id=row.worker_id,
        state=AttemptState(row.state),
        started=row.started,
        ended=row.ended,
        progress=None if row.progress is None else Progress.model_validate_json(row.progress),
        result=None if row.result is None else Result.model_validate_json(row.result),
        failure=None if row.failure is None else Failure.model_validate_json(row.failure),
    )
