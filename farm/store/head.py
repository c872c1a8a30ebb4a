"""The fenced epoch: at most one dispatcher writes.

A dispatcher takes the next epoch when it starts and checks it in every transaction. One that was
stopped, replaced and woken up finds a higher number and can write nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from farm.store.database import insert_once
from farm.store.raw import RawStatements
from farm.store.schema import head

_ROW = 1
_EPOCH = f"SELECT epoch FROM {head.name} WHERE id = {_ROW}"  # noqa: S608  nothing of it is asked for


class Fenced(RuntimeError):
    """Another dispatcher has taken over."""


@dataclass(frozen=True, slots=True)
class Head:
    """Who may write. Without a ``pid`` nobody does: it was given up, or by an older Tessera."""

    epoch: int
    beat: float
    host: str
    pid: int | None


def take(connection: Connection, now: float, host: str = "", pid: int | None = None) -> int:
    """Become the head; returns the epoch to check from now on."""
    insert_once(connection, head, id=_ROW, epoch=0, beat=now)
    held = connection.execute(select(head.c.epoch).where(head.c.id == _ROW).with_for_update()).scalar_one()
    values = {"epoch": int(held) + 1, "beat": now, "host": host, "pid": pid}
    connection.execute(update(head).where(head.c.id == _ROW).values(**values))
    return int(held) + 1


def check(connection: Connection, epoch: int) -> None:
    """Raise `Fenced` unless ``epoch`` is still the newest; holds the row until the commit."""
    raw = RawStatements(connection)
    current = raw.scalar(_EPOCH if raw.sqlite else f"{_EPOCH} FOR UPDATE")
    if current != epoch:
        raise Fenced(f"this dispatcher holds epoch {epoch}, the database is at {current}")


def beat(connection: Connection, now: float) -> None:
    """Note that the dispatcher lives."""
    connection.execute(update(head).where(head.c.id == _ROW).values(beat=now))


def give_up(connection: Connection) -> None:
    """End in order: the next one need not wait to see whether this one lives. To be checked before."""
    connection.execute(update(head).where(head.c.id == _ROW).values(beat=0.0, host=None, pid=None))


def held(connection: Connection) -> Head | None:
    """Who may write; None where there never was a dispatcher."""
    row = connection.execute(select(head).where(head.c.id == _ROW)).first()
    return None if row is None else Head(row.epoch, row.beat, row.host or "", row.pid)


def last_beat(connection: Connection) -> float | None:
    """When the dispatcher was last alive; None where there never was one."""
    found = held(connection)
    return None if found is None else found.beat
