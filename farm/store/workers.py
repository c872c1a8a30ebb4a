"""Rows of the workers that the dispatcher knows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from farm.domain.work import WorkerInfo
from farm.store.batch import Batch, batch_of
from farm.store.schema import failed_workers, workers


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that the head has met; `since` is when its state last changed."""

    info: WorkerInfo
    state: str  # idle, busy
    attempt_id: str | None
    since: float


@dataclass(frozen=True, slots=True)
class FailedRow:
    """A worker that cannot start, since when, and why."""

    worker_id: str
    why: str
    since: float


def put(where: Connection | Batch, info: WorkerInfo, state: str, attempt_id: str | None, now: float) -> None:
    """Write what a worker is and does."""
    values = {"info": info.text, "state": state, "attempt_id": attempt_id, "since": now}
    batch_of(where).put(workers, (info.worker_id,), values)


def drop(where: Connection | Batch, worker_id: str) -> None:
    """Forget a worker that is gone."""
    batch_of(where).drop(workers, (worker_id,))


def drop_all(connection: Connection) -> None:
    """A new head knows no worker until it has met it."""
    connection.execute(delete(workers))
    connection.execute(delete(failed_workers))


def listed(connection: Connection) -> list[WorkerRow]:
    """All workers that the head has met, by id."""
    rows = connection.execute(select(workers).order_by(workers.c.id))
    return [
        WorkerRow(WorkerInfo.model_validate_json(row.info), row.state, row.attempt_id, row.since)
        for row in rows
    ]


def failed(where: Connection | Batch, worker_id: str, why: str | None, now: float) -> None:
    """Write that a worker cannot start, and why; None: that is over."""
    if why is None:
        batch_of(where).drop(failed_workers, (worker_id,))
    else:
        batch_of(where).put(failed_workers, (worker_id,), {"why": why, "since": now})


def list_failed(connection: Connection) -> list[FailedRow]:
    """All workers that cannot start, by id."""
    rows = connection.execute(select(failed_workers).order_by(failed_workers.c.id))
    return [FailedRow(row.id, row.why, row.since) for row in rows]
