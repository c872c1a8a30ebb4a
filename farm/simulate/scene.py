"""What rendering costs in a simulated scene: of each frame, and of each part of its picture.

All of it follows from the seed and the frame's number alone, so that every policy meets the same work, in
whatever order it comes to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random

from farm.domain.tiles import Box, Size

#: The picture has so many regions a side, each with a cost of its own.
_REGIONS = 8


@dataclass(frozen=True)
class Scene:
    """A drawn scene. Seconds are of a worker of speed 1; `memory` is in bytes."""

    seed: str
    load: float
    sync: float
    render: float
    rest: float
    finish: float
    spread: float
    uneven: float
    memory: int
    size: Size

    @cached_property
    def _frames(self) -> dict[int, tuple[float, float]]:
        return {}

    def frame(self, number: int) -> tuple[float, float]:
        """Seconds of sync and of render of the whole frame."""
        found = self._frames.get(number)
        if found is None:
            dice = Random(f"{self.seed}/{number}")
            times = math.exp(dice.gauss(0, self.spread)) if self.spread else 1.0
            found = self._frames[number] = (self.sync * times, self.render * times)
        return found

    def whole(self, number: int) -> float:
        """Seconds of a frame that stays whole, on a worker that has the scene."""
        return sum(self.frame(number)) + self.rest

    def share(self, box: Box) -> float:
        """The share of a frame's render seconds that these of its pixels take; 1 for all of them."""
        if not self.uneven:
            return box.width * box.height / (self.size.width * self.size.height)
        regions = _regions(self.seed, self.uneven)
        across = _overlaps(box.x, box.width, self.size.width)
        return sum(
            part * sum(regions[row][column] * width for column, width in across)
            for row, part in _overlaps(box.y, box.height, self.size.height)
        )


@cache
def _regions(seed: str, uneven: float) -> tuple[tuple[float, ...], ...]:
    """The cost of a pixel in each region; their mean is 1."""
    dice = Random(f"{seed}/regions")
    drawn = [[math.exp(dice.gauss(0, uneven)) for _ in range(_REGIONS)] for _ in range(_REGIONS)]
    mean = sum(map(sum, drawn)) / _REGIONS**2
    return tuple(tuple(cost / mean for cost in row) for row in drawn)


def _overlaps(start: int, length: int, of: int) -> list[tuple[int, float]]:
    """Which strips of ``of`` pixels ``length`` of them lie in, with how much of all of them in each."""
    side = of / _REGIONS
    first, last = int(start / side), min(math.ceil((start + length) / side), _REGIONS)
    found = []
    for strip in range(first, last):
        low, high = max(start, strip * side), min(start + length, (strip + 1) * side)
        if high > low:
            found.append((strip, (high - low) / of))
    return found
