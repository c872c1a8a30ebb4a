"""The hours of a week in which a machine is lent, as its owner writes them down. Pure.

::

    HOURS  = PART {"," PART}          lent while any part says so
    PART   = DAYS | TIMES | DAYS " " TIMES
    DAYS   = DAY | DAY "-" DAY        mon tue wed thu fri sat sun; “fri-mon” goes over the week's end
    TIMES  = HH:MM "-" HH:MM          local time, the end excluded; “19:00-08:00” goes over midnight

A part over midnight belongs to the day on which it begins: “fri 19:00-08:00” ends on Saturday morning.
“24:00” is the end of the day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from farm.domain.errors import UsageError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = 24 * 60  # minutes
_PART = re.compile(r"(?:([a-z]{3})(?:-([a-z]{3}))?)?(?:(?:^|\s+)(\d{1,2}:\d\d)\s*-\s*(\d{1,2}:\d\d))?")


@dataclass(frozen=True, slots=True)
class Hours:
    """Parts of a week, each as the weekdays (0 is Monday) on which it begins, and minutes of those days.

    An end at or before its begin is on the day after.
    """

    parts: tuple[tuple[frozenset[int], int, int], ...]
    words: str

    @classmethod
    def parse(cls, text: str) -> Hours:
        """Raises `UsageError` for anything that the grammar above does not know."""
        words = [part.strip() for part in text.lower().split(",")]
        return cls(tuple(map(_part, words)), ", ".join(words))

    def hold(self, now: datetime) -> bool:
        """Whether ``now``, local time, lies within."""
        today, minute = now.weekday(), now.hour * 60 + now.minute
        return any(
            (today in days and begin <= minute < (end if begin < end else _DAY))
            or (begin >= end and (today - 1) % 7 in days and minute < end)
            for days, begin, end in self.parts
        )


def _part(text: str) -> tuple[frozenset[int], int, int]:
    found = _PART.fullmatch(text)
    if not text or found is None:
        raise _wrong(text)
    first, last, begin, end = found.groups()
    days = frozenset(range(7)) if first is None else _days(text, first, last or first)
    if begin is None:
        return days, 0, _DAY
    minutes = _minutes(text, begin), _minutes(text, end)
    if minutes[0] == minutes[1] or minutes[0] == _DAY:
        raise _wrong(text)
    return days, *minutes


def _days(text: str, first: str, last: str) -> frozenset[int]:
    if first not in DAYS or last not in DAYS:
        raise _wrong(text)
    begin = DAYS.index(first)
    return frozenset((begin + step) % 7 for step in range((DAYS.index(last) - begin) % 7 + 1))


def _minutes(text: str, time: str) -> int:
    hour, minute = map(int, time.split(":"))
    if minute > 59 or hour * 60 + minute > _DAY:
        raise _wrong(text)
    return hour * 60 + minute


def _wrong(text: str) -> UsageError:
    return UsageError(
        f"“{text}” are no hours in which a machine could be lent.",
        "Write hours and days as in “19:00-08:00, sat, sun” or “mon-fri 19:00-08:00”.",
    )
