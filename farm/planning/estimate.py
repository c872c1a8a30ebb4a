"""Time left and price of a job, as ranges that are right nine times of ten.

The work left is the frames left times what a frame takes on average. Two things are not known of it: the
average itself, which was measured on some frames only, and how far the frames left are from it. Both
shrink as frames are done: the first by the root of their number, the second with what is left.

The spread of frames that was measured on a few is not to be trusted much, so a wide one is assumed and
counts as much as `_DOUBT` frames do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from farm.domain.costs import Costs, Span
from farm.domain.plan import Plan
from farm.planning.model import frame_seconds

#: Nine of ten lie within so many standard deviations.
_NINE_OF_TEN = 1.645
#: Frames of one animation differ like this, as a share of their mean, where nothing else is known.
_SPREAD = 0.4
_DOUBT = 2.0
#: What is in no measure is off by so much, as a share: workers come and go, and frames change on the way.
_UNTOLD = 0.06
#: What was spent on a frame is so many times what the model says, at least and at most: opening the scene,
#: tries in vain, and workers that are slower than most are in it.
_LEAST, _MOST = 0.8, 3.0
_HOUR = 3600.0


def time_left(costs: Costs, plan: Plan, frames: float, workers: int) -> Span | None:
    """Seconds until ``frames`` more frames are done by ``workers`` workers.

    ``frames`` may be broken: what runs counts by what is left of it. None where nothing was measured, and
    where nobody works on it.
    """
    if costs.seen <= 0 or workers < 1:
        return None
    if frames <= 0:
        return Span(low=0.0, likely=0.0, high=0.0)
    each = _each(costs, plan)
    longest = min(each, frames * each) / max(1, plan.pieces_per_frame)
    uneven = longest * (1 - 1 / workers)  # the last worker is at it for longer than the first
    work = _work(costs, each, frames)
    return Span(
        low=work.low / workers,
        likely=work.likely / workers + uneven / 2,
        high=work.high / workers + uneven * work.high / work.likely if work.likely else uneven,
    )


def whole_price(costs: Costs, plan: Plan, frames: float, prices: Sequence[float]) -> Span | None:
    """The price of the whole job: what is paid, and what ``frames`` more frames will cost.

    ``prices`` are those of an hour of each worker that is at it. None where no price is known, and where
    something is left to do but nothing was measured.
    """
    if not costs.paid and not any(prices):
        return None
    if frames <= 0:
        return Span(low=costs.paid, likely=costs.paid, high=costs.paid)
    if costs.seen <= 0 or not prices:
        return None
    each = sum(prices) / len(prices) / _HOUR
    work = _work(costs, _each(costs, plan), frames)
    return Span(
        low=costs.paid + work.low * each,
        likely=costs.paid + work.likely * each,
        high=costs.paid + work.high * each,
    )


def _each(costs: Costs, plan: Plan) -> float:
    """Seconds of workers that a frame takes: as the model says, corrected by what was spent so far."""
    model = frame_seconds(costs, plan)
    if not model or not costs.spent:
        return model
    times = (costs.spent / model + _DOUBT) / (costs.seen + _DOUBT)
    return model * min(max(times, _LEAST), _MOST)


def _work(costs: Costs, each: float, frames: float) -> Span:
    """Seconds of workers that ``frames`` frames of ``each`` seconds will take."""
    variance = (_DOUBT * _SPREAD**2 + costs.seen * costs.spread**2) / (_DOUBT + costs.seen)
    deviation = math.sqrt(variance * (1 / costs.seen + 1 / max(frames, 1.0)) + _UNTOLD**2)
    factor = math.exp(_NINE_OF_TEN * deviation)
    likely = each * frames
    return Span(low=likely / factor, likely=likely, high=likely * factor)
