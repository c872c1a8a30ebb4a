"""A page of the journal: what one turn writes, until it is written."""

from __future__ import annotations

from collections.abc import Callable

from farm.domain.events import EventKind
from farm.store import Connection, events
from farm.store.batch import Batch


class Page:
    """Rows that wait in `batch`, events in the order in which they were told, and keys to delete.

    Of what passes (a tile's or a worker's state, samples counted) only the last of a turn is told: those
    before it were over when the turn was committed.
    """

    def __init__(self, connection: Connection, now: float) -> None:
        self.batch = Batch(connection)
        self.now = now
        self.doomed: list[str] = []  # keys to delete once it is committed
        self._told: list[tuple[EventKind, str | None, dict[str, object]] | None] = []
        self._last: dict[tuple[EventKind, str], int] = {}

    def tell(
        self, kind: EventKind, job_id: str | None, data: dict[str, object], passing: str | None = None
    ) -> None:
        """An event; ``passing`` names the thing whose later event of this kind takes its place."""
        if passing is not None:
            before = self._last.get((kind, passing))
            if before is not None:
                self._told[before] = None
            self._last[kind, passing] = len(self._told)
        self._told.append((kind, job_id, data))

    def read[T](self, what: Callable[[Connection], T]) -> T:
        """Do something that has to see, or to change, what was written so far."""
        self.batch.flush()
        return what(self.batch.connection)

    def flush(self) -> None:
        """Write all of it, in the caller's transaction."""
        for told in self._told:
            if told is not None:
                events.append(self.batch, self.now, *told)
        self._told.clear()
        self._last.clear()
        self.batch.flush()
