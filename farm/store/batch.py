"""Rows that are written together: merged by row, then one statement for all that are alike.

A turn of the dispatcher changes the same rows again and again: a task is opened and begun, a worker is
idle and busy. What counts is how they stand when the turn is committed, so each row is written once, and
all rows of a table that are written alike with one call. Statements are compiled once for a process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, insert, update
from sqlalchemy.dialects import postgresql, sqlite

from farm.store.raw import RawStatements
from farm.store.schema import Words, metadata

type Key = tuple[object, ...]  # of the primary key's columns, in their order
type Names = tuple[str, ...]

_TABLES = metadata.sorted_tables  # by their foreign keys
_KEYS: Mapping[Table, Names] = {
    table: tuple(column.name for column in table.primary_key) for table in _TABLES
}

#: Numbers that are asked for at once of a server: by a batch with hardly any, and by one with more.
_FEW, _MANY = 8, 256
_DRAW = "SELECT nextval(pg_get_serial_sequence('{table}', 'id')) FROM generate_series(1, {count})"
_LATEST = (
    "SELECT max(coalesce((SELECT max(id) FROM {table}), 0),"
    " coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{table}'), 0))"
)


@dataclass(slots=True)
class _Row:
    """What is to become of a row: None is gone, ``whole`` is all of it, else some of its columns change."""

    values: dict[str, object] | None
    whole: bool = False


class Batch:
    """Changes that wait for `flush`, in the caller's transaction.

    In the end the rows are the same as if each change had been written by itself. Tables are written in
    the order of their foreign keys. With ``at_once`` nothing waits.
    """

    def __init__(self, connection: Connection, *, at_once: bool = False) -> None:
        self.connection = connection
        self._raw = RawStatements(connection)
        self._at_once = at_once
        self._rows: dict[Table, dict[Key, _Row]] = {}
        self._added: dict[Table, list[dict[str, object]]] = {}
        self._numbers: dict[Table, list[int]] = {}  # to be given next, the last one first
        self._drawn = _FEW

    def put(self, table: Table, key: Key, values: Mapping[str, object]) -> None:
        """A row as a whole: new, or in the place of the one that has this key."""
        self._rows.setdefault(table, {})[key] = _Row(dict(values), whole=True)
        self._maybe()

    def change(self, table: Table, key: Key, values: Mapping[str, object]) -> None:
        """Some columns of a row; nothing happens where there is none."""
        rows = self._rows.setdefault(table, {})
        row = rows.get(key)
        if row is None:
            rows[key] = _Row(dict(values))
        elif row.values is not None:
            row.values.update(values)
        self._maybe()

    def drop(self, table: Table, key: Key) -> None:
        """A row goes."""
        self._rows.setdefault(table, {})[key] = _Row(None)
        self._maybe()

    def add(self, table: Table, values: dict[str, object]) -> None:
        """A row with no key but its number; rows are added in their order."""
        self._added.setdefault(table, []).append(values)
        self._maybe()

    def number(self, table: Table) -> int:
        """The next number of a table whose rows have one, taken; for the one writer of the table alone.

        Numbers grow, and are not given again when their row is gone: browsers keep what they name.
        """
        if not self._raw.sqlite:
            return self._from_server(table)
        if table not in self._numbers:
            self._numbers[table] = [1 + (self._raw.scalar(_LATEST.format(table=table.name)) or 0)]
        found = self._numbers[table][0]
        self._numbers[table] = [found + 1]
        return found

    def _from_server(self, table: Table) -> int:
        """Asked for several at once, as each question costs as much as a statement; some are left over."""
        waiting = self._numbers.setdefault(table, [])
        if not waiting:
            waiting += self._raw.scalars(_DRAW.format(table=table.name, count=self._drawn))[::-1]
            self._drawn = _MANY
        return waiting.pop()

    def flush(self) -> None:
        """Write what waits."""
        if not self._rows and not self._added:
            return
        rows, self._rows = self._rows, {}
        added, self._added = self._added, {}
        with self._raw.together():
            for table in _TABLES:
                self._write(table, rows.get(table, {}))
                self._write_added(table, added.get(table, []))

    def _maybe(self) -> None:
        if self._at_once:
            self.flush()

    def _write(self, table: Table, rows: Mapping[Key, _Row]) -> None:
        keys = _KEYS[table]
        alike: dict[tuple[str, Names], list[dict[str, object]]] = {}
        for key, row in rows.items():
            how = "drop" if row.values is None else "put" if row.whole else "change"
            values = row.values or {}
            if how == "change" and not values:
                continue
            told = {**dict(zip(keys, key, strict=True)), **values}
            alike.setdefault((how, tuple(values)), []).append(told)
        for (how, names), many in alike.items():
            self._run(how, table, names, many)

    def _write_added(self, table: Table, added: list[dict[str, object]]) -> None:
        alike: dict[Names, list[dict[str, object]]] = {}
        for values in added:
            alike.setdefault(tuple(values), []).append(values)
        for names, many in alike.items():
            self._run("add", table, names, many)

    def _run(self, how: str, table: Table, names: Names, many: list[dict[str, object]]) -> None:
        statement = _statement(self.connection, how, table, names)
        self._raw.run_many(statement.text, statement.parameters(many))


def batch_of(where: Connection | Batch) -> Batch:
    """The batch to write to; one that writes at once where there is just a connection."""
    return where if isinstance(where, Batch) else Batch(where, at_once=True)


@dataclass(frozen=True, slots=True)
class _Statement:
    """SQL of one dialect, and the columns whose values it takes, in its order."""

    text: str
    columns: tuple[str, ...]
    words: tuple[str, ...]  # those of them that are texts by people
    positional: bool

    def parameters(self, many: Iterable[dict[str, object]]) -> Any:
        for row in many if self.words else ():
            for name in self.words:
                row[name] = Words.cleaned(row[name])
        if self.positional:
            return [tuple([row[name] for name in self.columns]) for row in many]
        return [{_bound(name): row[name] for name in self.columns} for row in many]


_COMPILED: dict[tuple[str, str, str, Names], _Statement] = {}


def _statement(connection: Connection, how: str, table: Table, names: Names) -> _Statement:
    known = (connection.dialect.name, how, table.name, names)
    found = _COMPILED.get(known)
    if found is None:
        construct = _construct(how, table, names, connection.dialect.name)
        compiled = construct.compile(dialect=connection.dialect)
        columns = tuple(name.removeprefix("_") for name in compiled.positiontup or compiled.params)
        words = tuple(name for name in columns if isinstance(table.c[name].type, Words))
        found = _Statement(str(compiled), columns, words, compiled.positional)
        _COMPILED[known] = found
    return found


def _construct(how: str, table: Table, names: Names, dialect: str) -> Any:
    keys = _KEYS[table]
    if how == "add":
        return insert(table).values({name: bindparam(_bound(name)) for name in names})
    if how == "put":
        into = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
        into = into.values({name: bindparam(_bound(name)) for name in (*keys, *names)})
        rest = {name: into.excluded[name] for name in names}
        return into.on_conflict_do_update(index_elements=list(keys), set_=rest)
    this = [table.c[name] == bindparam(_bound(name)) for name in keys]
    if how == "drop":
        return delete(table).where(*this)
    return update(table).where(*this).values({name: bindparam(_bound(name)) for name in names})


def _bound(name: str) -> str:
    """What a column's parameter is called: by its own name it would be SQLAlchemy's."""
    return f"_{name}"
