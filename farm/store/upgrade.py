"""Brings the tables of an older Tessera up to date, and refuses those of a newer one.

Versions only add: tables, indexes, columns that may be empty or have a default. So no row is touched,
and it takes no longer with a large database than with a small one.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Column, Connection, inspect, select, update
from sqlalchemy.schema import CreateColumn

from farm.domain.errors import Unavailable
from farm.store.schema import frames, head, intents, jobs, metadata, tasks, users, version

#: Of the tables in `farm.store.schema`.
VERSION = 3
#: Columns that a version brought to tables that were there before it.
_NEW_COLUMNS: Mapping[int, tuple[Column[object], ...]] = {
    2: (jobs.c.proves, jobs.c.adds_to, tasks.c.renders),
    3: (
        *(users.c.workers, jobs.c.control, jobs.c.costs, jobs.c.waits, frames.c.recuts, intents.c.data),
        *(head.c.host, head.c.pid, frames.c.device),
    ),
}
_ROW = 1


def bring_up_to_date(connection: Connection, where: str) -> None:
    """Create or extend the tables, in the caller's transaction; raises `Unavailable` for newer ones.

    ``where`` is the database in words.
    """
    found = _version_of(connection)
    if found > VERSION:
        raise Unavailable(
            f"The database at {where} belongs to a newer Tessera: its tables are of version {found}, "
            f"this one knows {VERSION}.",
            "Install that Tessera again, or give this one a database of its own (FARM_DATABASE_URL).",
        )
    there = set(inspect(connection).get_table_names())
    metadata.create_all(connection)
    for step in range(found + 1, VERSION + 1):
        for column in _NEW_COLUMNS[step]:
            if column.table.name not in there:
                continue  # made just now, with all its columns
            said = CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {said}")
    for table in metadata.sorted_tables:
        for index in table.indexes:  # also on tables of an older version
            index.create(connection, checkfirst=True)
    changed = connection.execute(update(version).where(version.c.id == _ROW).values(number=VERSION))
    if changed.rowcount == 0:
        connection.execute(version.insert().values(id=_ROW, number=VERSION))


def _version_of(connection: Connection) -> int:
    """The version of the tables that are there. The first one did not number them; none need no steps."""
    tables = set(inspect(connection).get_table_names())
    if version.name in tables:
        return int(connection.execute(select(version.c.number).where(version.c.id == _ROW)).scalar_one())
    return 1 if jobs.name in tables else VERSION
