"""What was done to farms and what came of it: a file of JSON lines that a broken series goes on from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import lines


@dataclass(frozen=True)
class Done:
    """One fault. Times are seconds: ``at`` after the jobs were sent, the others after the fault began."""

    kind: str
    at: float
    seconds: float  # for so long it lasted
    hit: str | None  # None: nothing was there to be hit, and nothing was done
    met: float | None = None  # until the head next told of a worker; after its death: it has met one again
    dispatched: float | None = None  # until the next task was given to a worker; None: none was left
    committed: float | None = None  # until the next result was committed


@dataclass(frozen=True)
class Entry:
    """One run, or the end of a farm that had some (``seed`` None). ``wrong``: sentences; none is well."""

    seed: int | None
    jobs: tuple[str, ...] = ()
    faults: tuple[Done, ...] = ()
    frames: int = 0  # committed, fetched, and compared
    seconds: float = 0.0
    wrong: tuple[str, ...] = ()


class Ledger:
    """Entries in the order in which they were made. A line that was cut short is forgotten."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Entry]:
        for body in lines.read(self._path):
            faults = tuple(Done(**fault) for fault in body["faults"])
            lists = {"faults": faults, "jobs": tuple(body["jobs"]), "wrong": tuple(body["wrong"])}
            yield Entry(**{**body, **lists})

    def seeds(self) -> set[int]:
        """Runs that need not be done again."""
        return {entry.seed for entry in self if entry.seed is not None}

    def add(self, entry: Entry) -> None:
        """Write ``entry`` down at once."""
        lines.add(self._path, entry)
