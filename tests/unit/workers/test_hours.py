from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from farm.domain.errors import UsageError
from workers.hours import Hours

MONDAY = datetime(2026, 11, 30)


def lent(text: str) -> dict[str, list[tuple[str, str]]]:
    """The times of a week, by day, in which ``text`` holds: [begin, end) in steps of five minutes."""
    hours = Hours.parse(text)
    found: dict[str, list[tuple[str, str]]] = {}
    for day in range(7):
        begin = MONDAY + timedelta(days=day)
        spans: list[tuple[str, str]] = []
        since: str | None = None
        for step in range(24 * 12 + 1):
            now = begin + timedelta(minutes=5 * step)
            holds = step < 24 * 12 and hours.hold(now)
            said = "24:00" if step == 24 * 12 else f"{now:%H:%M}"
            if holds and since is None:
                since = said
            elif not holds and since is not None:
                spans.append((since, said))
                since = None
        if spans:
            found[begin.strftime("%a").lower()] = spans
    return found


def test_every_day_over_midnight() -> None:
    night = [("00:00", "08:00"), ("19:00", "24:00")]
    assert lent("19:00-08:00") == dict.fromkeys(["mon", "tue", "wed", "thu", "fri", "sat", "sun"], night)


def test_nights_and_the_weekend() -> None:
    found = lent("19:00-08:00, Sat, sun")
    assert found["mon"] == [("00:00", "08:00"), ("19:00", "24:00")]
    assert found["sat"] == found["sun"] == [("00:00", "24:00")]


def test_a_night_belongs_to_the_day_on_which_it_begins() -> None:
    assert lent("fri 19:00-08:00") == {"fri": [("19:00", "24:00")], "sat": [("00:00", "08:00")]}
    assert lent("sun 22:30-6:00") == {"sun": [("22:30", "24:00")], "mon": [("00:00", "06:00")]}


def test_days_go_over_the_end_of_the_week() -> None:
    assert list(lent("sat-mon 12:00-13:30")) == ["mon", "sat", "sun"]
    assert lent("wed")["wed"] == [("00:00", "24:00")]
    assert lent("tue 12:00-24:00") == {"tue": [("12:00", "24:00")]}
    assert lent("tue 20:00-00:00") == {"tue": [("20:00", "24:00")]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "19-8",
        "25:00-08:00",
        "19:60-20:00",
        "19:00-19:00",
        "24:00-08:00",
        "24:01-24:02",
        "mon-xyz",
        "mon19:00-20:00",
        "19:00-08:00 sat",
        "sat,,sun",
    ],
)
def test_what_is_no_hours_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="are no hours") as caught:
        Hours.parse(text)
    assert "19:00-08:00, sat, sun" in caught.value.cure
