"""What finished tasks tell of costs."""

from __future__ import annotations

import pytest

from farm.domain.costs import Costs
from farm.domain.work import Seconds
from farm.planning.learned import Learned, scaled

#: As measured on one thread: see `farm.planning.learned`.
FIRST = Seconds(sync=9.26, render=0.46, save=0.12, total=9.85)
FURTHER = Seconds(sync=0.0, render=0.45, save=0.01, total=0.47)


def test_the_first_frame_tells_all_that_it_can() -> None:
    learned = Learned()
    learned.rendered("w1", 1, Seconds(load=0.5, sync=4, render=20, save=1, total=26), 1.0, 1.0, whole=True)
    costs = learned.costs()
    assert (costs.seen, costs.sync, costs.render, costs.rest, costs.spread) == (1, 4, 20, 0, 0)
    assert costs.load == pytest.approx(1.0)  # opening, and starting Blender, which no field of it tells


def test_what_only_a_workers_first_frame_takes_counts_once_a_worker() -> None:
    learned = Learned()
    learned.rendered("w1", 1, FIRST, 1.0, 1.0, whole=True)
    for frame in (2, 3):
        learned.rendered("w1", frame, FURTHER, 1.0, 1.0, whole=True)
    learned.rendered("w2", 4, FIRST, 1.0, 1.0, whole=True)
    costs = learned.costs()
    assert costs.sync == 0
    assert costs.load == pytest.approx(9.27)
    assert costs.whole == pytest.approx(0.475, abs=0.01)


def test_pieces_are_scaled_to_a_frame_and_the_finish_adds_what_it_alone_does() -> None:
    learned = Learned()
    learned.rendered("w1", 1, Seconds(sync=3, render=2, total=6), 0.25, 1.0, whole=False)
    learned.rendered("w1", 1, Seconds(sync=0.1, render=2.5, total=2.8), 0.25, 1.0, whole=False)
    learned.rendered("w1", 1, Seconds(sync=0.1, render=2.1, total=2.4), 0.25, 1.0, whole=False)
    learned.finished(Seconds(load=0.5, render=1.5, total=3.0), 11.2, 1.0)
    costs = learned.costs()
    assert costs.seen == 0.75
    assert costs.sync == 3
    assert costs.render == pytest.approx(2.1 * 4 + 1.5)
    assert costs.rest == pytest.approx(0.3)  # its sync of a frame that it has is little, and of each piece
    assert costs.finish == 3


def test_a_worker_that_opened_the_scene_anew_is_no_measure_of_sync() -> None:
    learned = Learned()
    learned.rendered("w1", 1, FIRST, 1.0, 1.0, whole=True)
    learned.rendered("w1", 2, FURTHER, 1.0, 1.0, whole=True)
    learned.rendered("w1", 3, FIRST.model_copy(update={"load": 0.2}), 1.0, 1.0, whole=True)
    assert learned.costs().sync == 0


def test_seconds_are_those_of_a_worker_of_speed_one() -> None:
    learned = Learned()
    learned.rendered("slow", 1, Seconds(sync=8, render=40, total=50), 1.0, 0.5, whole=True)
    costs = learned.costs()
    assert (costs.sync, costs.render) == (4, 20)


def test_one_odd_frame_moves_nothing() -> None:
    learned = Learned()
    for frame in range(8):
        seconds = Seconds(render=500.0 if frame == 5 else 10.0, total=600)
        learned.rendered("w1", frame, seconds, 1.0, 1.0, whole=True)
    costs = learned.costs()
    assert costs.render == 10
    assert costs.spread > 1


def test_what_was_known_before_holds_until_it_is_measured() -> None:
    before = Costs(seen=4, load=2, sync=3, render=30, rest=1, finish=5, spread=0.2, spent=100, paid=1.5)
    learned = Learned(before)
    learned.spent, learned.paid = 10, 0.25
    assert learned.costs() == before.model_copy(update={"spent": 110.0, "paid": 1.75})
    learned.rendered("w1", 5, Seconds(sync=9, render=20, total=30), 1.0, 1.0, whole=True)
    costs = learned.costs()
    assert (costs.seen, costs.sync, costs.render, costs.rest, costs.finish) == (5, 3, 20, 1, 5)


def test_an_earlier_job_is_worth_a_frame_and_costs_nothing() -> None:
    costs = scaled(Costs(seen=40, load=1, sync=4, render=20, rest=1, finish=3, spent=900, paid=7), 2.5)
    assert costs == Costs(seen=1, load=1, sync=4, render=50, rest=1, finish=3)
