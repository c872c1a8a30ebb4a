"""What is to happen, in the order of its time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count


class Clock:
    """A heap of things to be done. `now` is in seconds from the start, and never goes back.

    What is planned for one time is done in the order in which it was planned.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, time: float, then: Callable[[], None]) -> None:
        """Do ``then`` at ``time``; now, where that has passed."""
        heapq.heappush(self._heap, (max(time, self.now), next(self._numbers), then))

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        """Do ``then`` in so many seconds."""
        self.at(self.now + seconds, then)

    @property
    def next(self) -> float | None:
        """When the next thing is due; None: nothing is."""
        return self._heap[0][0] if self._heap else None

    def turn(self, until: float) -> None:
        """Do all that is due up to ``until``, which is now afterwards.

        Also what is planned meanwhile, as far as it is due.
        """
        while self._heap and self._heap[0][0] <= until:
            time, _, then = heapq.heappop(self._heap)
            self.now = time
            then()
        self.now = max(self.now, until)
