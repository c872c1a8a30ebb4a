"""Opening the database, and the two kinds of transaction: `read` and `write`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection as Connection
from sqlalchemy import Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from farm.domain.errors import StorageFull, TesseraError, Unavailable
from farm.store.raw import RawStatements
from farm.store.upgrade import bring_up_to_date

#: So many values are asked for in one statement: SQLite caps its variables.
CHUNK = 500

_BEGIN = "tessera_begin"
_IDLE = 60.0  # seconds that a session of PostgreSQL may do nothing within a transaction
_CREATING = 0x7E55E7A  # key of the lock that whoever makes the tables of a farm holds


class Database:
    """SQLite in WAL mode, or PostgreSQL, by URL.

    A commit that returned is on disk: SQLite runs with ``synchronous=FULL``. Whoever stops within a
    transaction keeps others from writing: PostgreSQL ends it after a minute.
    """

    def __init__(self, url: str, patience: float = 15.0) -> None:
        """Connect, create missing tables, bring older ones up to date; raise `Unavailable` where that fails.

        A database of a newer version is refused, unchanged. ``patience``: so many seconds a transaction waits
        for that of another process on SQLite.
        """
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql" and parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        self.sqlite = parsed.get_backend_name() == "sqlite"
        file = parsed.database if self.sqlite else None
        self._where = f"“{file}”" if file else parsed.render_as_string(hide_password=True)
        with self._errors():
            if self.sqlite and parsed.database:
                Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
            self._engine = create_engine(parsed, pool_pre_ping=not self.sqlite)
            if self.sqlite:
                _tune_sqlite(self._engine, patience)
            else:
                _tune_postgres(self._engine)
            # SQLite's readers see one moment by themselves; PostgreSQL's see a new one with each query.
            one_moment = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
            self._reading = self._engine.execution_options(**one_moment)
            try:
                with self.write() as connection:
                    if not self.sqlite:  # its CREATE TABLE IF NOT EXISTS still fails where two do it at once
                        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATING})")
                    bring_up_to_date(connection, self._where)
            except BaseException:
                self.close()
                raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A view of one moment; nothing is written."""
        with self._errors(), self._reading.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: all of it or nothing. SQLite takes the write lock at once (no upgrades)."""
        with (
            self._errors(),
            self._engine.connect().execution_options(**{_BEGIN: "BEGIN IMMEDIATE"}) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise  # the database is well; what was to be written is a fault of ours
        except DBAPIError as error:
            raise self._told(error) from error
        except (SQLAlchemyError, OSError) as error:
            raise Unavailable(
                f"The database at {self._where} cannot be used: {error}.", "Check FARM_DATABASE_URL."
            ) from error

    def _told(self, error: DBAPIError) -> TesseraError:
        words = str(error.orig)
        if "is full" in words or "No space left" in words:
            return StorageFull(
                "The disk of the farm's database is full.", f"Free some room near {self._where}."
            )
        return Unavailable(
            f"The database at {self._where} does not answer: {words}.",
            "Check that it runs and that FARM_DATABASE_URL is right.",
        )


def insert_once(connection: Connection, table: Table, **values: object) -> None:
    """Insert a row unless its key is there already; two writers at once are no conflict."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    connection.execute(dialect.insert(table).values(**values).on_conflict_do_nothing())


def _tune_postgres(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.execute(f"SET idle_in_transaction_session_timeout = {1000 * _IDLE:.0f}")
        connection.commit()


def _tune_sqlite(engine: Engine, patience: float) -> None:
    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        # The driver's own transaction handling cannot BEGIN IMMEDIATE; we begin ourselves.
        connection.isolation_level = None
        for pragma in (
            f"busy_timeout={1000 * patience:.0f}",
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        RawStatements(connection).run(connection.get_execution_options().get(_BEGIN, "BEGIN"))
