"""How honest the farm is about what is left: what it said while a job ran, against what came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from farm.domain.costs import Span


@dataclass(frozen=True, slots=True)
class Said:
    """A range of seconds left, as it was told of a job at a time."""

    job_id: str
    at: float
    left: Span


@dataclass(frozen=True)
class Honesty:
    """`held`: the share of all ranges in which the job did end; such that nine of ten do is honest.

    `widths` are the medians of the ranges' widths, as shares of the time that was really left when the job
    was at the first, second, third and last quarter of its time.
    """

    said: int
    held: float
    early: float  # share that ended before the range …
    late: float  # … and after it
    widths: tuple[float | None, ...]


@dataclass
class Estimates:
    """Collects what is said, each `every` seconds."""

    every: float = 60.0
    said: list[Said] = field(default_factory=list)
    _next: float = 0.0

    def due(self, now: float) -> bool:
        """Whether it is time to ask again."""
        if now < self._next:
            return False
        self._next = now + self.every
        return True

    def judged(self, spans: Mapping[str, tuple[float, float]]) -> Honesty | None:
        """Against when each job came and ended; None where nothing was said."""
        held = early = late = 0
        widths: list[list[float]] = [[], [], [], []]
        for said in self.said:
            began, ended = spans[said.job_id]
            left = ended - said.at
            if left <= 0:
                continue
            held += said.left.low <= left <= said.left.high
            early += left < said.left.low
            late += left > said.left.high
            quarter = min(int(4 * (said.at - began) / (ended - began)), 3)
            widths[quarter].append((said.left.high - said.left.low) / left)
        total = held + early + late
        if not total:
            return None
        return Honesty(
            said=total,
            held=held / total,
            early=early / total,
            late=late / total,
            widths=tuple(median(each) if each else None for each in widths),
        )
