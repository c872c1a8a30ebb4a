"""The fenced epoch: at most one dispatcher writes.

A dispatcher takes the next epoch when it starts and checks it in every transaction. One that was
stopped, replaced and woken up finds a higher number and can write nothing.
"""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from farm.store.database import insert_once
from farm.store.schema import head

_ROW = 1


class Fenced(RuntimeError):
    """Another dispatcher has taken over."""


def take(connection: Connection, now: float) -> int:
    """Become the head; returns the epoch to check from now on."""
    insert_once(connection, head, id=_ROW, epoch=0, beat=now)
    held = connection.execute(select(head.c.epoch).where(head.c.id == _ROW).with_for_update()).scalar_one()
    epoch = int(held) + 1
    connection.execute(update(head).where(head.c.id == _ROW).values(epoch=epoch, beat=now))
    return epoch


def check(connection: Connection, epoch: int) -> None:
    """Raise `Fenced` unless ``epoch`` is still the newest; holds the row until the commit."""
    current = connection.execute(
        select(head.c.epoch).where(head.c.id == _ROW).with_for_update()
    ).scalar_one_or_none()
    if current != epoch:
        raise Fenced(f"this dispatcher holds epoch {epoch}, the database is at {current}")


def beat(connection: Connection, now: float) -> None:
    """Note that the dispatcher lives."""
    connection.execute(update(head).where(head.c.id == _ROW).values(beat=now))


def last_beat(connection: Connection) -> float | None:
    """When the dispatcher was last alive; None where there never was one."""
    return connection.execute(select(head.c.beat).where(head.c.id == _ROW)).scalar_one_or_none()
