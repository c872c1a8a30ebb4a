"""Statements in the driver's own hands, for the few that run hundreds of times a second.

SQLAlchemy takes longer to prepare such a statement than SQLite to carry it out. Faults are told as it
tells them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError


class RawStatements:
    """Of one connection, within its transaction."""

    def __init__(self, connection: Connection) -> None:
        self._dialect = connection.dialect
        pooled: Any = connection.connection
        self._driver: Any = pooled.driver_connection
        self._cursor: Any = pooled.cursor()
        self.sqlite = connection.dialect.name == "sqlite"

    def scalar(self, statement: str) -> int | None:
        """The number that a query gives; None where it gives none."""
        found = self.scalars(statement)
        return found[0] if found else None

    def scalars(self, statement: str) -> list[int]:
        """The numbers that a query gives, one a row; what is no number is left out."""
        with self._told(statement):
            self._cursor.execute(statement)
            return [int(row[0]) for row in self._cursor.fetchall() if row[0] is not None]

    def run(self, statement: str) -> None:
        """The statement, which has no parameters."""
        with self._told(statement):
            self._cursor.execute(statement)

    def run_many(self, statement: str, parameters: Sequence[Any]) -> None:
        """The statement, with each of the parameters."""
        with self._told(statement):
            self._cursor.executemany(statement, parameters)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Statements that are run in here reach a server in one go, and nobody waits for each of them.

        They give nothing back, and the fault of one may be told by a later one, or at the end.
        """
        if self.sqlite:
            yield
            return
        with self._told("statements of a batch"), self._driver.pipeline():
            yield

    @contextmanager
    def _told(self, statement: str) -> Iterator[None]:
        driver: Any = self._dialect.loaded_dbapi
        try:
            yield
        except driver.Error as error:
            raise DBAPIError.instance(statement, None, error, driver.Error, dialect=self._dialect) from error
