"""Rows of the event table, and of the intents that the web process leaves for the dispatcher."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, Row, delete, func, insert, select

from farm.domain.events import EventKind
from farm.domain.views import EventView
from farm.store.batch import Batch, batch_of
from farm.store.schema import events, intents

_ENCODER = json.JSONEncoder(default=str)


def append(
    where: Connection | Batch, now: float, kind: EventKind, job_id: str | None, data: dict[str, object]
) -> None:
    """Tell everyone who listens."""
    told: dict[str, object] = {
        "time": now,
        "job_id": job_id,
        "kind": kind.value,
        "data": _ENCODER.encode(data),
    }
    batch_of(where).add(events, told)


def after(connection: Connection, sequence: int, job_id: str | None, limit: int) -> list[EventView]:
    """Events with a higher number, oldest first."""
    query = select(events).where(events.c.sequence > sequence).order_by(events.c.sequence).limit(limit)
    if job_id is not None:
        query = query.where(events.c.job_id == job_id)
    return [_event(row) for row in connection.execute(query)]


def _event(row: Row[tuple[object, ...]]) -> EventView:
    return EventView(
        sequence=row.sequence, time=row.time, job_id=row.job_id, kind=row.kind, data=json.loads(row.data)
    )


def of_kind(connection: Connection, kind: EventKind, job_id: str, limit: int) -> list[EventView]:
    """Events of one kind of a job, newest first; meant for kinds of which there are few."""
    query = select(events).where(events.c.kind == kind.value, events.c.job_id == job_id)
    return [_event(row) for row in connection.execute(query.order_by(events.c.time.desc()).limit(limit))]


def latest(connection: Connection) -> int:
    """The highest number so far; 0 where nothing has happened."""
    return connection.execute(select(func.max(events.c.sequence))).scalar_one_or_none() or 0


#: Told for those who look on; who comes later reads how things stand, and has no use for them.
_PASSING = (EventKind.ATTEMPT_PROGRESS, EventKind.TILE_STATE, EventKind.WORKER_STATE)


def forget_passing(connection: Connection, before: float) -> None:
    """Drop old rows that only mattered while it happened: samples counted, tiles and workers at work."""
    passing = [kind.value for kind in _PASSING]
    connection.execute(delete(events).where(events.c.kind.in_(passing), events.c.time < before))


class IntentKind(StrEnum):
    """What can be asked of a job."""

    CANCEL = "cancel"
    CONTROL = "control"  # data: a Control
    REQUEUE = "requeue"  # data: {"frames": "1-10"}, or none of it: those that failed
    RETRY = "retry"  # of a job that has ended


@dataclass(frozen=True, slots=True)
class Intent:
    """What a user asked of a job; taken up, in order, by the dispatcher."""

    id: int
    job_id: str
    kind: IntentKind
    data: dict[str, object]


def leave_intent(
    connection: Connection, now: float, job_id: str, kind: IntentKind, data: dict[str, object] | None = None
) -> None:
    """Ask something of a job; the dispatcher takes it up."""
    told = None if data is None else json.dumps(data)
    connection.execute(insert(intents).values(job_id=job_id, kind=kind.value, time=now, data=told))


def waiting_intents(connection: Connection, job_id: str | None = None) -> list[Intent]:
    """Intents that were not taken up yet, oldest first."""
    query = select(intents).order_by(intents.c.id)
    if job_id is not None:
        query = query.where(intents.c.job_id == job_id)
    return [
        Intent(row.id, row.job_id, IntentKind(row.kind), json.loads(row.data) if row.data else {})
        for row in connection.execute(query)
    ]


def take_up(connection: Connection, taken: list[Intent]) -> None:
    """Forget intents, in the transaction that carries out what they ask."""
    connection.execute(delete(intents).where(intents.c.id.in_([intent.id for intent in taken])))
