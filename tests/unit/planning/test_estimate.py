"""Time left and price: what they say, and that their ranges are honest and tighten."""

from __future__ import annotations

import random
import statistics

import pytest

from farm.domain.costs import Costs, Span
from farm.domain.plan import Plan
from farm.planning.estimate import time_left, whole_price

PLAN = Plan(frames="1-100", width=640, height=360, reason="for tests")
COSTS = Costs(seen=10, sync=1, render=8, rest=1, spread=0.2, paid=0.5)


def wide(span: Span | None) -> float:
    assert span is not None
    return (span.high - span.low) / span.likely


def test_one_worker_needs_as_long_as_the_frames_left_take() -> None:
    span = time_left(COSTS, PLAN, 20, 1)
    assert span is not None
    assert span.likely == pytest.approx(200)
    assert span.low < 200 < span.high


def test_several_workers_share_it_but_for_an_uneven_end() -> None:
    span = time_left(COSTS, PLAN, 20, 4)
    assert span is not None
    assert span.likely == pytest.approx(50 + 10 * 0.75 / 2)
    one = time_left(COSTS, PLAN, 0.5, 1)
    assert one is not None
    assert one.likely == pytest.approx(5)


def test_a_cut_frame_costs_its_sync_in_each_piece() -> None:
    costs = Costs(seen=10, sync=4, render=8, rest=1, finish=2)
    cut = PLAN.model_copy(update={"grid": "2x2"})
    span = time_left(costs, cut, 10, 1)
    assert span is not None
    assert span.likely == pytest.approx(10 * (4 * 5 + 8 + 2))


def test_nothing_is_said_where_nothing_was_measured_or_nobody_works() -> None:
    assert time_left(Costs(), PLAN, 10, 4) is None
    assert time_left(COSTS, PLAN, 10, 0) is None
    assert whole_price(Costs(), PLAN, 10, [2.0]) is None
    assert whole_price(COSTS, PLAN, 10, []) is None
    assert whole_price(COSTS.model_copy(update={"paid": 0.0}), PLAN, 10, [0.0, 0.0]) is None


def test_what_is_done_has_no_range() -> None:
    assert time_left(COSTS, PLAN, 0, 3) == Span(low=0, likely=0, high=0)
    assert whole_price(COSTS, PLAN, 0, []) == Span(low=0.5, likely=0.5, high=0.5)


def test_the_price_is_what_was_paid_and_what_is_left_at_the_mean_price() -> None:
    span = whole_price(COSTS, PLAN, 36, [1.0, 3.0])
    assert span is not None
    assert span.likely == pytest.approx(0.5 + 36 * 10 * 2 / 3600)
    assert span.low < span.likely < span.high


def test_the_range_tightens_as_frames_are_done() -> None:
    spans = [time_left(COSTS.model_copy(update={"seen": n}), PLAN, 100 - n, 1) for n in (1, 5, 20, 50, 80)]
    widths = [span.high - span.low for span in spans if span is not None]
    assert len(widths) == 5
    assert widths == sorted(widths, reverse=True)
    assert wide(spans[0]) > 1  # one frame tells little


def test_what_comes_lies_in_the_range_nine_times_of_ten() -> None:
    dice = random.Random(5)  # noqa: S311  a test is to come out the same each time
    hits = 0
    for _ in range(1000):
        spread = dice.choice([0.1, 0.3, 0.5])
        frames = [10 * dice.lognormvariate(0, spread) for _ in range(100)]
        seen = frames[: dice.choice([2, 5, 20, 60])]
        mean = statistics.fmean(seen)
        costs = Costs(seen=len(seen), render=mean, spread=statistics.stdev(seen) / mean)
        span = time_left(costs, PLAN, 100 - len(seen), 1)
        assert span is not None
        hits += span.low <= sum(frames[len(seen) :]) <= span.high
    assert hits >= 900
