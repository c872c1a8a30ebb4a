"""Rows of the workers that the dispatcher knows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from farm.domain.work import WorkerInfo
from farm.store.batch import Batch, batch_of
from farm.store.schema import workers


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that the head has met; `since` is when its state last changed."""

    info: WorkerInfo
    state: str  # idle, busy
    attempt_id: str | None
    since: float


def put(where: Connection | Batch, info: WorkerInfo, state: str, attempt_id: str | None, now: float) -> None:
    """Write what a worker is and does."""
    values = {"info": info.model_dump_json(), "state": state, "attempt_id": attempt_id, "since": now}
    batch_of(where).put(workers, (info.worker_id,), values)


def drop(where: Connection | Batch, worker_id: str) -> None:
    """Forget a worker that is gone."""
    batch_of(where).drop(workers, (worker_id,))


def drop_all(connection: Connection) -> None:
    """A new head knows no worker until it has met it."""
    connection.execute(delete(workers))


def listed(connection: Connection) -> list[WorkerRow]:
    """All workers that the head has met, by id."""
    rows = connection.execute(select(workers).order_by(workers.c.id))
    return [
        WorkerRow(WorkerInfo.model_validate_json(row.info), row.state, row.attempt_id, row.since)
        for row in rows
    ]
