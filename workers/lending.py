"""When a workstation works for the farm, and when it belongs to its owner. Pure.

It is lent in the hours that its owner set, once the owner has been away from it for as long as they set.
It is taken back as soon as either ends: what runs is ended at once, and tried again elsewhere for free.
Only where hours alone end, and the owner allows it, a running piece is finished first: nobody is there
who would feel it. An owner who comes back always gets the machine at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from farm.domain.errors import UsageError
from workers.hours import Hours

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Away:
    """Why a machine does not work for the farm now; ``at_once``: what runs is ended, not finished."""

    why: str
    at_once: bool = True


@dataclass(frozen=True, slots=True)
class Lending:
    """What the owner of a machine allows. Nothing set: it always works for the farm."""

    hours: Hours | None = None
    idle: float | None = None  # seconds that the owner must have been away
    busy: float | None = None  # cores that programs of the owner may use while they count as away
    finish: bool = False  # a running piece is finished when only the hours end

    def __post_init__(self) -> None:
        if self.busy is not None and self.idle is None:
            raise UsageError(
                "FARM_LEND_BUSY says how much other programs may compute, but not for how long.",
                "Set FARM_LEND_IDLE too, as in FARM_LEND_IDLE=10m.",
            )

    @property
    def always(self) -> bool:
        return self.hours is None and self.idle is None

    def away(self, now: datetime, idle: float | None) -> Away | None:
        """Why the machine is its owner's at ``now`` (local time); None while it is lent.

        ``idle`` is for how many seconds neither the owner nor a program of theirs was at work; None where
        that cannot be told, and then a machine that is lent by it is not lent.
        """
        if self.idle is not None:
            if idle is None:
                return Away("whether its owner is at it cannot be told on this machine (see docs/workers.md)")
            if idle < self.idle:
                return Away(f"its owner is at it; lent after {spoken(self.idle)} without them")
        if self.hours is not None and not self.hours.hold(now):
            return Away(f"its owner lends it {self.hours.words}", at_once=not self.finish)
        return None


ALWAYS = Lending()


def seconds(text: str, name: str) -> float:
    """A duration such as “10m”, “90s” or “1.5h” in seconds; raises `UsageError` that names the setting."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or float(found[1]) <= 0:
        raise UsageError(f"{name} is “{text}”, which is no duration.", f"Write {name}=10m, 90s or 1h.")
    return float(found[1]) * _UNITS[found[2]]


def spoken(seconds: float) -> str:
    """A duration for people: “10 min”, “90 s”."""
    return f"{seconds / 60:.0f} min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:.0f} s"
