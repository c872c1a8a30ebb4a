"""Progress as a picture: a job's frames as a bar cut by state, in the order of their lives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from farm.domain.views import FrameCounts, TileView

#: Width of a bar in its own units, and the least that a state with any frame gets: one in a million shows.
WIDTH, LEAST = 1000.0, 8.0


@dataclass(frozen=True, slots=True)
class Segment:
    """``state`` is drawn from ``x``, ``width`` wide, in units of which a bar has `WIDTH`.

    What is under way is drawn thinner than what is done: it is told apart without colour too.
    """

    state: str
    count: int
    x: float
    width: float


def segments(counts: FrameCounts) -> list[Segment]:
    """The bar's segments, left to right; they fill it. Empty while the job has no plan."""
    found = [
        ("done", counts.done),
        ("failed", counts.failed),
        ("running", counts.running),
        ("waiting", counts.waiting),
        ("cancelled", counts.cancelled),
    ]
    shown = [(state, count) for state, count in found if count]
    widths = [max(LEAST, WIDTH * count / counts.total) for _, count in shown]
    scale = WIDTH / sum(widths) if widths else 1.0
    bar: list[Segment] = []
    x = 0.0
    for (state, count), width in zip(shown, widths, strict=True):
        bar.append(Segment(state, count, round(x, 2), round(width * scale, 2)))
        x += width * scale
    return bar


def of_tiles(tiles: Sequence[TileView]) -> FrameCounts:
    """Tiles counted as frames are, for the bar of a job that is one cut picture."""
    counted = Counter(tile.state.value for tile in tiles)
    return FrameCounts(total=len(tiles), **counted)


def told(counts: FrameCounts, one: str = "frame") -> str:
    """The bar in words, for who cannot see it: “18 of 24 frames done, 2 rendering, 1 failed”."""
    if not counts.total:
        return "not planned yet"
    more = [f"{counts.running} rendering"] if counts.running else []
    more += [f"{counts.failed} failed"] if counts.failed else []
    more += [f"{counts.cancelled} cancelled"] if counts.cancelled else []
    noun = one if counts.total == 1 else f"{one}s"
    return ", ".join([f"{counts.done} of {counts.total} {noun} done", *more])
