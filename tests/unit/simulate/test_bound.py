"""The lower bound, on cases solved by hand. Scenes open in 4 s, so that an inspection takes 5."""

from dataclasses import replace

import pytest

from farm.simulate.bound import Fleet, alone, lower_bound
from farm.simulate.trace import GB
from tests.unit.simulate.traces import group, tiny


def test_frames_are_shared_by_the_workers_once_the_scene_is_inspected() -> None:
    # 5 s, then 4 frames of 11 s on 2 workers.
    assert lower_bound(tiny(group(frames=4), workers=2)) == pytest.approx(5 + 22)


def test_twice_the_speed_takes_half_the_time() -> None:
    assert lower_bound(tiny(group(frames=4), workers=2, speed=2.0)) == pytest.approx(27 / 2)


def test_nothing_is_done_before_it_arrives() -> None:
    early, late = group("early", frames=1), group("late", frames=4, arrival=1000)
    assert lower_bound(tiny(early, late, workers=2)) == pytest.approx(1000 + 5 + 22)


def test_what_came_before_and_waits_counts() -> None:
    # 100 frames of 11 s before; 20 s later they are not done, and 1 frame comes.
    early, late = group("early", frames=100), group("late", frames=1, arrival=20)
    drawn = tiny(early, late, workers=2)
    assert lower_bound(drawn) == pytest.approx(5 + (1100 + 5 + 11) / 2)


def test_frames_in_order_are_a_chain() -> None:
    assert lower_bound(tiny(group(frames=4, in_order=True, cut=False), workers=9)) == pytest.approx(5 + 44)


def test_a_frame_that_stays_whole_is_a_chain() -> None:
    assert lower_bound(tiny(group(frames=2, cut=False), workers=9)) == pytest.approx(5 + 11)


def test_a_frame_that_may_be_cut_is_synced_by_all_and_finished_by_one() -> None:
    # 5 + sync 2 + 400/4 + rest 1, then: the scene opens in 4 s beside 1 s of merging, 1 s more, rest 1.
    drawn = tiny(group(frames=1, render=400), workers=4)
    assert lower_bound(drawn) == pytest.approx(5 + 2 + 100 + 1 + 4 + 1 + 1)


def test_a_frame_is_not_cut_where_that_takes_longer() -> None:
    assert lower_bound(tiny(group(frames=1), workers=4)) == pytest.approx(5 + 11)


def test_a_chain_runs_on_the_fastest_worker_that_has_the_memory() -> None:
    drawn = tiny(group(frames=1, cut=False, memory=10), workers=2)
    slow, fast = drawn.machines
    info = fast.info.model_copy(update={"gpu_memory": 8 * GB})
    drawn = replace(drawn, machines=(slow, replace(fast, info=info, speed=4.0)))
    assert lower_bound(drawn) == pytest.approx(5 / 4 + 11)


def test_workers_that_are_gone_do_nothing() -> None:
    drawn = tiny(group(frames=2), workers=2)  # 22 s of work from 5 s on
    stays, goes = drawn.machines
    drawn = replace(drawn, machines=(stays, replace(goes, gone=((9.0, 1000.0),))))
    # Both until 9 s: 8 of 22 s; then one.
    assert lower_bound(drawn) == pytest.approx(9 + 14)


def test_all_workers_may_be_gone_for_a_while() -> None:
    drawn = tiny(group(frames=2))
    [machine] = drawn.machines
    drawn = replace(drawn, machines=(replace(machine, gone=((10.0, 50.0),)),))
    assert lower_bound(drawn) == pytest.approx(5 + 22 + 40)


def test_alone_a_job_has_all_workers_or_as_many_as_it_may_have() -> None:
    drawn = tiny(group(frames=8, arrival=100), workers=4)
    fleet = Fleet(drawn.machines)
    [job] = drawn.jobs
    assert alone(job, fleet) == pytest.approx(5 + 22)
    limited = replace(job, control=job.control.model_copy(update={"workers": 1}))
    assert alone(limited, fleet) == pytest.approx(5 + 88)
