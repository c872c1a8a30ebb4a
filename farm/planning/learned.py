"""What finished tasks tell of a job's costs: medians over the last of them, so that no odd one counts much.

Measured (Blender 5.2, one thread): of a scene that only its camera moves in, the first frame that a
worker renders took 9.3 s to prepare, and each further one, or a tile of it, nothing. So what a worker's
first frame takes beyond the others is told as `Costs.load`: it is paid once a worker, as opening is.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from farm.domain.costs import Costs
from farm.domain.work import Seconds

_KEPT = 15  # newest values of each kind
_FRAMES = 60  # for the spread, which needs more


def _values() -> deque[float]:
    return deque(maxlen=_KEPT)


@dataclass(slots=True)
class Learned:
    """What was measured of one job since it was taken up; seconds of a worker of speed 1."""

    before: Costs = field(default_factory=Costs)  # what was known when this began
    seen: float = 0.0  # whole frames' worth
    spent: float = 0.0
    paid: float = 0.0
    at: dict[str, int] = field(default_factory=dict)  # the frame that each worker last rendered some of
    _first: deque[float] = field(default_factory=_values)  # a worker's first task, but for its pixels
    _first_sync: deque[float] = field(default_factory=_values)
    _sync: deque[float] = field(default_factory=_values)
    _whole: deque[float] = field(default_factory=_values)  # render of whole frames, denoised and composited
    _parts: deque[float] = field(default_factory=_values)  # of pieces, scaled to a frame
    _after: deque[float] = field(default_factory=_values)  # denoise and composite of a finish
    _rest: deque[float] = field(default_factory=_values)
    _finish: deque[float] = field(default_factory=_values)
    _frames: deque[float] = field(default_factory=lambda: deque(maxlen=_FRAMES))

    def rendered(
        self, worker: str, frame: int, seconds: Seconds, share: float, speed: float, *, whole: bool
    ) -> None:
        """A task that rendered ``share`` of a frame's pixels and samples was done."""
        before = self.at.get(worker)
        self.at[worker] = frame
        self.seen += share
        render, sync = seconds.render * speed, seconds.sync * speed
        if whole:
            self._whole.append(render)
            self._frames.append(render)
        else:
            self._parts.append(render / share)
        other = max(0.0, (seconds.total - seconds.load - seconds.render) * speed)
        if seconds.load or before is None:
            told = seconds.fetch + seconds.save + seconds.store
            self._first.append(max(0.0, (seconds.total - seconds.render - told) * speed))
            self._first_sync.append(sync)
        elif before == frame:
            self._rest.append(other)  # hardly anything is prepared again, and it is paid for each piece
        else:
            self._sync.append(sync)
            self._rest.append(max(0.0, other - sync))

    def finished(self, seconds: Seconds, pieces: float, speed: float) -> None:
        """A frame of ``pieces`` seconds of pieces was put together."""
        self._after.append(seconds.render * speed)
        self._finish.append(seconds.total * speed)
        if pieces:
            self._frames.append(pieces)

    def costs(self) -> Costs:
        """What is known now."""
        before = self.before
        if not self.seen:
            return before.model_copy(update=self._money())
        sync = _median(self._sync, before.sync if before.seen else _median(self._first_sync, 0.0))
        whole = _median(self._whole, None)
        if whole is None:
            whole = _median(self._parts, 0.0) + _median(self._after, 0.0)
        first = _median(self._first, None)
        return Costs(
            seen=before.seen + self.seen,
            load=before.load if first is None else max(0.0, first - sync),
            sync=sync,
            render=whole,
            rest=_median(self._rest, before.rest),
            finish=_median(self._finish, before.finish),
            spread=self._spread(before.spread),
            **self._money(),
        )

    def _money(self) -> dict[str, float]:
        return {"spent": self.before.spent + self.spent, "paid": self.before.paid + self.paid}

    def _spread(self, before: float) -> float:
        if len(self._frames) < 3:
            return before
        mean = statistics.fmean(self._frames)
        # Asked after each task: `statistics.stdev` counts in fractions, which takes longer than all the rest.
        variance = math.fsum((value - mean) ** 2 for value in self._frames) / (len(self._frames) - 1)
        return math.sqrt(variance) / mean if mean else 0.0


def _median[T](values: Iterable[float], otherwise: T) -> float | T:
    found = list(values)
    return statistics.median(found) if found else otherwise


def scaled(costs: Costs, by: float) -> Costs:
    """What an earlier job of a scene tells of one that renders ``by`` times its pixels and samples.

    As if it had been seen on one frame: what this one measures itself soon counts more. Nothing of it was
    paid for this one.

    >>> scaled(Costs(seen=9, sync=4, render=20, paid=3), 0.5)
    Costs(seen=1.0, load=0.0, sync=4.0, render=10.0, rest=0.0, finish=0.0, spread=0.0, spent=0.0, paid=0.0)
    """
    seen = min(costs.seen, 1.0)
    return costs.model_copy(update={"seen": seen, "render": costs.render * by, "spent": 0.0, "paid": 0.0})
