"""How the frames of a job are cut: what the ways of cutting answer to the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from farm.domain.plan import SampleRange
from farm.domain.scene import Finding
from farm.domain.tiles import TileGrid


@dataclass(frozen=True, slots=True)
class Cutting:
    """A way to cut each frame, and the reason in words. Neither grid nor ranges: frames stay whole."""

    why: str
    grid: TileGrid | None = None
    overlap: int = 0
    inner: tuple[int, int] | None = None
    ranges: tuple[SampleRange, ...] = ()
    taken: int = 0
    exact: bool = True


def may_differ(findings: Sequence[Finding]) -> str:
    """What is told of a cut that was asked for though it is not exact; nothing where it is."""
    return f"; may differ from whole frames: {findings[0].what}" if findings else ""


def counted(number: int, noun: str) -> str:
    """“1 frame”, “1,000 frames”."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def about(seconds: float) -> str:
    """“8 s”, “3 min”, “2.5 h”: as exactly as an estimate deserves."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
