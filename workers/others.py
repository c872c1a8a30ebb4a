"""How much of the CPU programs use that are none of the farm's: the owner's own renders, builds and games."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import psutil

from workers import families

WINDOW = 10.0  # seconds that a reading is of: a program that starts up is no sign of work


class Quiet:
    """For how many seconds other programs have used fewer than ``cores`` cores.

    Read often: each reading after `WINDOW` seconds is of the time since the one before. A program that
    begins and ends within one is missed. Until the first reading, they count as busy.
    """

    def __init__(
        self,
        cores: float,
        used: Callable[[], dict[tuple[int, float], float]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cores = cores
        self._used = used or used_by_others
        self._clock = clock
        self._read = self._since = clock()
        self._last = self._used()

    def seconds(self) -> float:
        """May walk the process table, which takes some milliseconds."""
        now = self._clock()
        if now - self._read >= WINDOW:
            used = self._used()
            spent = sum(max(0.0, used[one] - before) for one, before in self._last.items() if one in used)
            if spent / (now - self._read) >= self._cores:
                self._since = now
            self._read, self._last = now, used
        return self._read - self._since


def used_by_others() -> dict[tuple[int, float], float]:
    """CPU seconds of each process, by its number and birth, but for this one's family.

    Workers of one machine are children of Ray's raylet: all that it started is of the farm.
    """
    own = psutil.Process()
    parent = own.parent()
    first = parent if parent is not None and "raylet" in parent.name() else own
    ours = {process.pid for process in families.members(first.pid)}
    found: dict[tuple[int, float], float] = {}
    for process in psutil.process_iter():
        if process.pid not in ours:
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                found[process.pid, process.create_time()] = times.user + times.system
    return found
