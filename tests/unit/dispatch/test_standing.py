from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.dispatch import events as told
from farm.dispatch.state import Aside
from farm.domain.states import JobState
from farm.domain.task import TaskKind
from farm.domain.work import Cause, Failure, Order
from tests.unit.dispatch.play import Play, worker

WELL = {"w2", "w3"}


def farm_of(*names: str) -> Play:
    play = Play()
    play.join(*map(worker, names))
    return play


@pytest.fixture
def play() -> Play:
    return farm_of("w1", "w2", "w3")


def submit(play: Play, job_id: str, frames: str = "1-9") -> None:
    """A job that is inspected already."""
    play.submit(job_id, frames=frames, tiles="none")
    while inspections := play.orders(TaskKind.INSPECT):
        play.succeed(inspections[0])


def orders_on(play: Play, name: str) -> list[Order]:
    return [order for order in play.orders() if play.where[order.attempt_id] == name]


def fail_on(play: Play, name: str, cause: Cause = Cause.CRASH) -> None:
    [order] = orders_on(play, name)
    play.fail(order, cause)


def succeed_on(play: Play, name: str) -> None:
    [order] = orders_on(play, name)
    play.succeed(order)


def set_aside_for_the_farm(play: Play) -> None:
    """w1 fails two tasks of each of two jobs."""
    for job_id in ("j1", "j2"):
        submit(play, job_id, "1-20")
        fail_on(play, "w1")
        fail_on(play, "w1")


def test_a_worker_on_which_two_tasks_of_a_job_fail_gets_no_third(play: Play) -> None:
    submit(play, "j1")
    fail_on(play, "w1")
    assert play.aside == {}
    fail_on(play, "w1")
    why = "Of this job, frame 1 and frame 4 failed on it and on no other worker."
    assert play.aside == {("w1", "j1"): (why, 0)}
    assert not orders_on(play, "w1")
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_other_jobs_go_on_to_a_worker_that_is_set_aside_for_one(play: Play) -> None:
    submit(play, "j1")
    fail_on(play, "w1")
    fail_on(play, "w1")
    submit(play, "j2")
    assert [order.task.split("/")[0] for order in orders_on(play, "w1")] == ["j2"]


def test_each_task_that_a_worker_does_forgives_one(play: Play) -> None:
    submit(play, "j1", "1-40")
    for _ in range(6):
        fail_on(play, "w1")
        succeed_on(play, "w1")
    assert play.aside == {}


def test_a_task_that_fails_elsewhere_too_is_not_held_against_a_worker(play: Play) -> None:
    submit(play, "j1")
    fail_on(play, "w1")
    [first] = [order for order in play.orders() if order.task == "j1/1/whole"] or [None]
    assert first is None  # it waits for w2 or w3
    succeed_on(play, "w2")
    fail_on(play, "w2")  # frame 1, once more
    fail_on(play, "w1")
    assert play.aside == {}


def test_a_worker_comes_back_when_what_failed_on_it_turns_out_to_be_the_tasks_fault(play: Play) -> None:
    submit(play, "j1")
    fail_on(play, "w1")
    fail_on(play, "w1")
    assert ("w1", "j1") in play.aside
    succeed_on(play, "w2")
    fail_on(play, "w2")
    assert play.aside == {}
    assert orders_on(play, "w1")


def test_a_scene_that_is_broken_takes_no_worker_out(play: Play) -> None:
    for number in range(6):
        submit(play, f"j{number}", "1-50")
        while play.sent:
            play.fail(play.orders()[0])
        assert play.jobs[f"j{number}"].state is JobState.FAILED
        for attempt_id in play.cancelled:
            play.tell(told.Failed(attempt_id, Failure(cause=Cause.CANCELLED, what="Cancelled.")))
        assert play.aside == {}


def test_what_no_worker_is_to_blame_for_is_held_against_none(play: Play) -> None:
    submit(play, "j1", "1-90")
    for cause in (Cause.STORAGE, Cause.PREEMPTED, Cause.CANCELLED, Cause.LOST):
        for _ in range(3):
            fail_on(play, "w1", cause)
            play.now += 60
            play.assign()
    assert play.aside == {}


def test_the_last_worker_is_never_set_aside() -> None:
    play = farm_of("w1", "w2")
    submit(play, "j1")
    fail_on(play, "w1")
    fail_on(play, "w1")
    assert set(play.aside) == {("w1", "j1")}
    fail_on(play, "w2")
    fail_on(play, "w2")
    assert set(play.aside) <= {("w1", "j1")}
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_worker_comes_back_when_the_others_are_gone() -> None:
    play = farm_of("w1", "w2")
    submit(play, "j1")
    fail_on(play, "w1")
    fail_on(play, "w1")
    assert set(play.aside) == {("w1", "j1")}
    play.lose("w2")
    play.now += 1
    play.assign()
    assert play.aside == {}
    assert orders_on(play, "w1")


def test_the_only_worker_that_could_render_a_job_is_not_set_aside_for_it() -> None:
    play = Play()
    play.join(worker("g1", device="OPTIX"), worker("w2"))
    play.submit("j1", frames="1-9", tiles="none", device="optix")
    play.succeed(play.orders()[0])
    for _ in range(4):
        fail_on(play, "g1")
    assert play.aside == {}


def test_a_worker_set_aside_for_two_jobs_is_set_aside_for_all(play: Play) -> None:
    set_aside_for_the_farm(play)
    why = "Tasks of 2 jobs failed on it and on no other worker. It is tested before it renders again."
    assert play.aside["w1", None] == (why, 0)
    submit(play, "j3")
    assert not orders_on(play, "w1")


def test_a_worker_that_fails_one_task_of_each_job_is_set_aside_at_the_fourth(play: Play) -> None:
    for job_id in ("j1", "j2", "j3", "j4"):
        submit(play, job_id, "1")
    names: list[str] = []
    while play.sent:
        order = (orders_on(play, "w1") or play.orders())[0]
        if play.where[order.attempt_id] == "w1" and order.kind is not TaskKind.INSPECT:
            names.append(order.task)
            play.fail(order)
        else:
            play.succeed(order)
    assert len(names) <= 4
    assert {change.state for change in play.jobs.values()} == {JobState.DONE}


def test_lack_of_memory_says_nothing_of_a_worker_to_other_jobs(play: Play) -> None:
    play.join(*(worker(name).model_copy(update={"memory": 2}) for name in WELL))
    for job_id in ("j1", "j2"):
        submit(play, job_id, "1-20")
        fail_on(play, "w1", Cause.OUT_OF_MEMORY)
        fail_on(play, "w1", Cause.OUT_OF_MEMORY)
    assert set(play.aside) == {("w1", "j1"), ("w1", "j2")}


def test_a_worker_is_probed_after_a_minute_then_after_twice_as_long(play: Play) -> None:
    set_aside_for_the_farm(play)
    waits = []
    for _ in range(7):
        began = play.now
        while not play.probed:
            play.now += 10
            play.assign()
        waits.append(play.now - began)
        play.answer_probe("w1", "The GPU is gone.")
    assert waits == [60, 120, 240, 480, 960, 1800, 1800]
    why = "Tasks failed on it, and a test render failed as well: The GPU is gone."
    assert play.aside["w1", None] == (why, 7)


def test_a_worker_that_is_well_again_is_trusted_with_everything(play: Play) -> None:
    set_aside_for_the_farm(play)
    play.now += 60
    play.assign()
    assert play.probed == ["w1"]
    play.answer_probe("w1")
    assert play.aside == {}
    assert orders_on(play, "w1")
    fail_on(play, "w1")  # what failed before is forgotten
    assert play.aside == {}


def test_one_that_passes_the_probe_and_then_fails_again_is_probed_less_and_less(play: Play) -> None:
    set_aside_for_the_farm(play)
    waits = []
    for _ in range(3):
        began = play.now
        while not play.probed:
            play.now += 10
            play.assign()
        waits.append(play.now - began)
        play.answer_probe("w1")
        while ("w1", None) not in play.aside:
            fail_on(play, "w1")
    assert waits == [60, 120, 240]


def test_a_worker_that_joins_again_is_still_set_aside(play: Play) -> None:
    set_aside_for_the_farm(play)
    play.lose("w1")
    play.join(worker("w1"))
    assert not orders_on(play, "w1")
    play.now += 60
    play.assign()
    assert play.probed == ["w1"]


def test_what_was_set_aside_for_a_job_ends_with_it(play: Play) -> None:
    submit(play, "j1", "1-6")
    fail_on(play, "w1")
    fail_on(play, "w1")
    play.finish_all()
    play.now += 1
    play.assign()
    assert play.aside == {}


def test_short_jobs_that_end_well_tell_of_the_worker_on_which_they_failed(play: Play) -> None:
    wasted = Counter[str]()
    for number in range(8):
        play.now += 1
        submit_and_break(play, f"j{number}", wasted)
    assert wasted["w1"] == 4
    assert ("w1", None) in play.aside


def submit_and_break(play: Play, job_id: str, wasted: Counter[str]) -> None:
    """Six frames; w1 fails everything, at once."""
    play.submit(job_id, frames="1-6", tiles="none")
    while play.sent:
        order = (orders_on(play, "w1") or play.orders())[0]
        if play.where[order.attempt_id] == "w1":
            wasted["w1"] += 1
            play.fail(order)
        else:
            play.succeed(order)
    assert play.jobs[job_id].state is JobState.DONE


def test_what_was_set_aside_before_a_restart_is_kept_and_probed() -> None:
    play = Play()
    play.core.state.aside["w1", None] = Aside("why", 2, play.now)
    play.aside["w1", None] = "why", 2
    play.join(worker("w1"), worker("w2"))
    submit(play, "j1")
    assert not orders_on(play, "w1")
    play.now += 239
    play.assign()
    assert not play.probed
    play.now += 1
    play.assign()
    assert play.probed == ["w1"]


def test_a_worker_is_probed_only_when_it_is_at_nothing(play: Play) -> None:
    submit(play, "j1", "1-20")
    play.core.state.aside["w3", None] = Aside("why", 0, play.now)
    play.aside["w3", None] = "why", 0
    play.core.state.workers["w3"].aside = "why"
    play.now += 100
    play.assign()
    assert not play.probed
    play.now += 1
    succeed_on(play, "w3")
    assert play.probed == ["w3"]


def test_a_probe_of_a_worker_that_is_away_counts_nothing_and_is_made_when_it_is_back(play: Play) -> None:
    set_aside_for_the_farm(play)
    play.now += 60
    play.assign()
    play.tell(told.WorkerAway("w1", "its owner is at it"))
    play.answer_probe("w1", None)
    assert play.aside["w1", None][1] == 0
    play.now += 60
    play.assign()
    assert play.probed == []
    play.tell(told.WorkerAway("w1", ""))
    play.now += 1
    play.assign()
    assert play.probed == ["w1"]
    play.answer_probe("w1")
    assert ("w1", None) not in play.aside


def test_news_of_a_probe_that_nobody_asked_for_is_harmless(play: Play) -> None:
    play.tell(told.WorkerProbed("w1", "It is not there."))
    play.tell(told.WorkerProbed("w9"))
    assert play.aside == {}


CAUSES = [Cause.CRASH, Cause.HANG, Cause.BAD_RESULT, Cause.INTERNAL, Cause.NO_DEVICE, Cause.DISK_FULL]


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    healthy=st.integers(1, 4),
    jobs=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    tiles=st.sampled_from(["none", "2x1"]),
    cause=st.sampled_from(CAUSES),
)
def test_a_worker_that_fails_everything_costs_two_tries_of_a_job_and_four_of_the_farm(
    data: st.DataObject, healthy: int, jobs: list[int], tiles: str, cause: Cause
) -> None:
    """Whatever the order of events; and every job that the others can do is done."""
    play = farm_of("bad", *(f"w{number}" for number in range(healthy)))
    for number, frames in enumerate(jobs):
        play.now += 1
        play.submit(f"j{number}", frames=f"1-{frames}", tiles=tiles)
    wasted = Counter[str]()
    for _ in range(1000):
        if not play.sent:
            play.now += 5
            play.assign()
        if not play.core.state.jobs:
            break
        for name in play.probed:
            play.answer_probe(name, "It is broken.")
        if play.sent:
            order = data.draw(st.sampled_from(play.orders()))
            if play.where[order.attempt_id] == "bad":
                wasted[order.task.split("/")[0]] += 1
                play.fail(order, cause)
            else:
                play.succeed(order)
    assert {change.state for change in play.jobs.values()} == {JobState.DONE}
    assert all(count <= 2 for count in wasted.values())
    assert wasted.total() <= 4
