"""How a job goes, in words."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from farm.domain import telling
from farm.domain.control import Control, Needs
from farm.domain.costs import Costs, Span
from farm.domain.job import RenderSettings
from farm.domain.states import JobState
from farm.domain.views import JobView


def job(**more: object) -> JobView:
    told = {"id": "a", "name": "a", "owner": "o", "state": JobState.RENDERING, "scene_id": "0" * 64}
    return JobView.model_validate(told | {"settings": RenderSettings(), "created": 1.0} | more)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1, 4, "a few seconds"),
        (18, 34, "20–35 s"),
        (38, 41, "about 40 s"),
        (80, 100, "1–2 min"),
        (240, 360, "4–6 min"),
        (290, 310, "about 5 min"),
        (1500, 2600, "25–45 min"),
        (5000, 7200, "1.4–2 h"),
        (3 * 86400, 5 * 86400, "3–5 days"),
    ],
)
def test_a_range_of_time_is_no_finer_than_it_is_known(low: float, high: float, said: str) -> None:
    assert telling.within(Span(low=low, likely=low, high=high)) == said


def test_a_price_is_told_with_what_was_paid_until_the_job_has_ended() -> None:
    assert telling.price(job()) == ""
    span = Span(low=0.9, likely=1.0, high=1.1)
    assert telling.price(job(price=span, costs=Costs(paid=0.42))) == "0.42 so far, 0.90–1.10 in all"
    paid = Span(low=0.42, likely=0.42, high=0.42)
    assert telling.price(job(price=paid, costs=Costs(paid=0.42), state=JobState.DONE)) == "0.42"
    assert telling.money(0.0031) == "0.0031"


def test_costs_are_told_once_something_was_measured() -> None:
    assert telling.costs(Costs()) == ""
    measured = Costs(seen=3, load=4, sync=12, render=48, rest=0.5, finish=2.5)
    assert telling.costs(measured) == (
        "sync 12 s, render 48 s, saving 0.5 s a frame; opening the scene 4.0 s"
    )
    assert "finishing 2.5 s" in telling.costs(measured, cut=True)


def test_why_a_job_stands_still_is_told_in_few_words() -> None:
    paused = Control(paused=True)
    assert telling.standing(job(control=paused, waits="It is paused.")) == "paused"
    assert telling.standing(job(waits="It waits for job b, which failed. Have it done.")) == (
        "waits for job b, which failed"
    )
    assert telling.standing(job(waits="No worker is here.")) == "no worker is here"
    assert telling.standing(job()) == ""
    assert telling.standing(job(control=paused, state=JobState.DONE)) == ""
    assert telling.standing(job(control=paused, cancelling=True)) == ""


def test_wishes_are_told_where_they_are_none_of_the_usual() -> None:
    now = time.mktime((2026, 12, 1, 12, 0, 0, 0, 0, -1))
    assert telling.wishes(Control(), now) == []
    asked = Control(
        priority=80,
        paused=True,
        start=now + 7200,
        workers=4,
        needs=Needs(memory=24 << 30, tags=("rtx", "linux")),
        after=("b", "c"),
        order="every:10",
        other_class=True,
    )
    assert telling.wishes(asked, now) == [
        ("priority", "80"),
        ("paused", "nothing new is begun"),
        ("start", "not before 14:00"),
        ("after", "jobs b and c"),
        ("workers", "4 at once, at most"),
        ("needs", "24 GiB of memory, “linux” and “rtx”"),
        ("order", "one of every 10 frames first"),
        ("class", "another one where a frame does not fit into memory"),
    ]
    assert telling.clock(now + 86400, now) == "Wed 2 Dec, 12:00"
    assert telling.clock(now - 60 * 86400 * 7, now).endswith("2025, 12:00")


@pytest.fixture
def berlin() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as here:
        here.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_moments_of_the_dispatcher_are_told_by_the_readers_clock() -> None:
    now = 1_796_151_600.0 - 3600  # 2026-12-01 18:00 UTC
    assert telling.in_local_time("It starts at 2026-12-01 19:00 UTC.", now) == "It starts at 20:00."
    later = "It starts at 2026-12-02 22:30 UTC, or 2027-01-01 00:00 UTC."
    assert telling.in_local_time(later, now) == "It starts at Wed 2 Dec, 23:30, or Fri 1 Jan 2027, 01:00."
    assert telling.in_local_time("It waits for job utc.", now) == "It waits for job utc."
