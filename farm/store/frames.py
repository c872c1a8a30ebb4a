"""Rows of opened frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import batched

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, func, select

from farm.domain.job import Device
from farm.domain.plan import Recut
from farm.domain.states import TaskState
from farm.domain.work import RenderClass
from farm.store.batch import Batch, batch_of
from farm.store.database import CHUNK
from farm.store.schema import frames

_RECUTS = TypeAdapter(tuple[Recut, ...])
_OPENED: Mapping[str, object] = {
    "state": TaskState.WAITING.value,
    "finishing": 0,
    "render_class": None,
    "seconds": None,
    "started": None,
    "ended": None,
    "error": "",
    "recuts": None,
    "device": None,
}


@dataclass(frozen=True, slots=True)
class FrameRow:
    """A frame that was opened. `seconds` sums its committed attempts once it is done."""

    job_id: str
    frame: int
    state: TaskState
    finishing: bool
    render_class: RenderClass | None
    seconds: float | None
    started: float | None
    ended: float | None
    error: str
    recuts: tuple[Recut, ...] = ()
    device: Device | None = None  # that it moved to, for more memory


def open_frame(where: Connection | Batch, job_id: str, frame: int) -> None:
    """Give a frame its row, waiting, or begin again with the one that it has; the dispatcher's alone."""
    batch_of(where).put(frames, (job_id, frame), _OPENED)


def change(where: Connection | Batch, job_id: str, frame: int, **values: object) -> None:
    """Write some columns of a frame; the dispatcher's alone."""
    batch_of(where).change(frames, (job_id, frame), values)


def of_job(connection: Connection, job_id: str, numbers: Iterable[int]) -> dict[int, FrameRow]:
    """Rows by frame number, of those that were opened."""
    found: dict[int, FrameRow] = {}
    for some in batched(numbers, CHUNK, strict=False):
        query = select(frames).where(frames.c.job_id == job_id, frames.c.frame.in_(some))
        found |= {row.frame: row for row in map(_frame, connection.execute(query.order_by(frames.c.frame)))}
    return found


def in_states(connection: Connection, job_id: str, states: Iterable[TaskState]) -> list[FrameRow]:
    """Opened frames of a job in any of ``states``, in their order."""
    wanted = [state.value for state in states]
    query = select(frames).where(frames.c.job_id == job_id, frames.c.state.in_(wanted))
    return [_frame(row) for row in connection.execute(query.order_by(frames.c.frame))]


def any_recut(connection: Connection, job_id: str) -> bool:
    """Whether the plan of any frame of a job was revised."""
    query = select(frames.c.frame).where(frames.c.job_id == job_id, frames.c.recuts.is_not(None))
    return connection.execute(query.limit(1)).first() is not None


def recuts_now(connection: Connection, job_ids: Iterable[str]) -> dict[tuple[str, int], tuple[Recut, ...]]:
    """The revisions of frames that are not done yet, by job and frame; of those that have any."""
    query = select(frames.c.job_id, frames.c.frame, frames.c.recuts).where(
        frames.c.job_id.in_(list(job_ids)),
        frames.c.state == TaskState.RUNNING.value,
        frames.c.recuts.is_not(None),
    )
    return {(row[0], row[1]): _RECUTS.validate_json(row[2]) for row in connection.execute(query)}


def counts(connection: Connection, opened: Mapping[str, int]) -> dict[str, dict[TaskState, int]]:
    """Opened frames by job and state; ``opened`` says how many each job has.

    Those that are done are most of a long job, and are not counted: they are what the others leave.
    """
    found: dict[str, dict[TaskState, int]] = {job_id: {} for job_id in opened}
    others = [state.value for state in TaskState if state is not TaskState.DONE]
    query = (
        select(frames.c.job_id, frames.c.state, func.count())
        .where(frames.c.job_id.in_(list(opened)), frames.c.state.in_(others))
        .group_by(frames.c.job_id, frames.c.state)
    )
    for job_id, state, count in connection.execute(query):
        found[job_id][TaskState(state)] = count
    for job_id, by_state in found.items():
        if done := opened[job_id] - sum(by_state.values()):
            by_state[TaskState.DONE] = done
    return found


def _frame(row: Row[tuple[object, ...]]) -> FrameRow:
    return FrameRow(
        job_id=row.job_id,
        frame=row.frame,
        state=TaskState(row.state),
        finishing=bool(row.finishing),
        render_class=None if row.render_class is None else RenderClass.model_validate_json(row.render_class),
        seconds=row.seconds,
        started=row.started,
        ended=row.ended,
        error=row.error,
        recuts=() if row.recuts is None else _RECUTS.validate_json(row.recuts),
        device=None if row.device is None else Device(row.device),
    )
