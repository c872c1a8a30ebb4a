"""Rows of the workers that the dispatcher knows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from farm.domain.work import WorkerInfo
from farm.store.schema import workers


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that the head has met; `since` is when its state last changed."""

    info: WorkerInfo
    state: str  # idle, busy
    attempt_id: str | None
    since: float


def put(connection: Connection, info: WorkerInfo, state: str, attempt_id: str | None, now: float) -> None:
    """Write what a worker is and does."""
    values = {"info": info.model_dump_json(), "state": state, "attempt_id": attempt_id, "since": now}
    changed = connection.execute(update(workers).where(workers.c.id == info.worker_id).values(**values))
    if changed.rowcount == 0:
        connection.execute(insert(workers).values(id=info.worker_id, **values))


def drop(connection: Connection, worker_id: str) -> None:
    """Forget a worker that is gone."""
    connection.execute(delete(workers).where(workers.c.id == worker_id))


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
