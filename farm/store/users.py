"""Rows of users: who submits, and how many workers they may have."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from farm.domain.views import UserView
from farm.store.schema import users


def listed(connection: Connection) -> list[UserView]:
    """All users, by id."""
    rows = connection.execute(select(users).order_by(users.c.id))
    return [UserView(id=row.id, name=row.name, workers=row.workers) for row in rows]


def limit(connection: Connection, user_id: str, workers: int | None) -> bool:
    """Let a user have so many workers at once, None: all; False where there is no such user."""
    changed = connection.execute(update(users).where(users.c.id == user_id).values(workers=workers))
    return changed.rowcount > 0


def limits(connection: Connection) -> dict[str, int]:
    """Workers at once by user, of those that have a limit."""
    rows = connection.execute(select(users.c.id, users.c.workers).where(users.c.workers.is_not(None)))
    return {row.id: row.workers for row in rows}
