"""Rows of workers that are given nothing for a while."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from farm.store.schema import set_aside


@dataclass(frozen=True, slots=True)
class AsideRow:
    """Why a worker is given nothing of a job, or, without one, of any."""

    worker_id: str
    job_id: str | None
    why: str
    since: float
    probes: int


def put(
    connection: Connection, worker_id: str, job_id: str | None, why: str | None, probes: int, now: float
) -> None:
    """Set a worker aside; without a ``why`` it is well again. The dispatcher's alone."""
    key = {"worker_id": worker_id, "job_id": job_id or ""}
    connection.execute(delete(set_aside).filter_by(**key))
    if why is not None:
        connection.execute(insert(set_aside).values(**key, why=why, since=now, probes=probes))


def listed(connection: Connection) -> list[AsideRow]:
    """All that are set aside."""
    rows = connection.execute(select(set_aside).order_by(set_aside.c.worker_id, set_aside.c.job_id))
    return [AsideRow(row.worker_id, row.job_id or None, row.why, row.since, row.probes) for row in rows]
