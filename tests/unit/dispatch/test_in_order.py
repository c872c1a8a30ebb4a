"""Frames that depend on those before: one at a time, in their order, on one worker if it lives."""

from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.domain.scene import Finding, Weight
from farm.domain.states import JobState, TaskState
from farm.domain.work import Cause
from tests.unit.dispatch.play import Play, report, worker

CLOTH = Finding(code="cloth", weight=Weight.NOTE, what="“Flag” is an unbaked cloth.")


@pytest.fixture
def play() -> Play:
    play = Play()
    play.join(worker("w1"), worker("w2"), worker("w3"))
    play.submit(frames="1-4")
    play.succeed(play.orders()[0], report(in_order=(CLOTH,)))
    return play


def only(play: Play) -> tuple[str, str]:
    """The one order that is out, and its worker."""
    [order] = play.orders()
    return order.task, play.where[order.attempt_id]


def test_one_worker_renders_all_frames_one_after_the_other(play: Play) -> None:
    at = []
    while play.sent:
        at.append(only(play))
        play.succeed(play.orders()[0])
    assert at == [(f"j1/{number}/whole", at[0][1]) for number in range(1, 5)]
    assert play.jobs["j1"].state is JobState.DONE


def test_another_takes_over_where_it_is_lost(play: Play) -> None:
    play.succeed(play.orders()[0])
    task, first = only(play)
    play.lose(first)
    again, second = only(play)
    assert (again, task) == ("j1/2/whole", "j1/2/whole")
    assert second != first
    play.join(worker(first))
    play.succeed(play.orders()[0])
    assert only(play) == ("j1/3/whole", second)


def test_a_frame_that_failed_is_tried_elsewhere_and_the_next_waits_for_it(play: Play) -> None:
    task, first = only(play)
    play.fail(play.orders()[0])
    again, second = only(play)
    assert (again, second != first) == (task, True)
    play.succeed(play.orders()[0])
    assert only(play) == ("j1/2/whole", second)


def test_a_frame_that_waits_for_storage_is_not_overtaken(play: Play) -> None:
    task, first = only(play)
    play.fail(play.orders()[0], Cause.STORAGE, "Storage does not answer.")
    assert not play.sent
    play.now += 30
    play.assign()
    assert only(play) == (task, first)


def test_a_frame_that_cannot_be_rendered_does_not_stop_those_after_it(play: Play) -> None:
    for _ in range(3):
        play.fail(play.orders()[0])
    play.finish_all()
    assert play.frames["j1", 1].state is TaskState.FAILED
    assert {play.frames["j1", n].state for n in (2, 3, 4)} == {TaskState.DONE}


def test_other_workers_render_other_jobs_meanwhile(play: Play) -> None:
    play.now += 1
    play.submit("j2", frames="1-4", tiles="none")
    while inspect := [order for order in play.orders() if order.task == "j2/inspect"]:
        play.succeed(inspect[0])
    assert sorted(order.task for order in play.orders()) == ["j1/1/whole", "j2/1/whole", "j2/2/whole"]


def test_where_its_worker_is_at_an_older_job_another_takes_over() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit("j1", frames="1-2", tiles="none")
    play.succeed(play.orders()[0])
    play.now += 1
    play.submit("j2", frames="1-3")
    play.join(worker("w2"))
    for order in [order for order in play.orders() if order.task == "j1/2/whole"]:
        play.fail(order, Cause.STORAGE, "Storage does not answer.")  # w2 turns to the younger job
    play.succeed(next(o for o in play.orders() if o.task == "j2/inspect"), report(in_order=(CLOTH,)))
    assert play.where[play.orders()[-1].attempt_id] == "w2"
    assert play.core.state.jobs["j2"].bound == "w2"
    play.now += 60  # w2 is to do the older job's frame first, w1 is free
    second = next(o for o in play.orders() if o.task == "j2/1/whole")
    play.succeed(second)
    assert {order.task: play.where[order.attempt_id] for order in play.orders()} == {
        "j1/1/whole": "w1",
        "j1/2/whole": "w2",
    }
    play.succeed(next(o for o in play.orders() if o.task == "j1/1/whole"))
    assert {order.task: play.where[order.attempt_id] for order in play.orders()} == {
        "j1/2/whole": "w2",
        "j2/2/whole": "w1",
    }


def test_a_worker_that_comes_back_as_another_machine_does_not_hold_the_job_up() -> None:
    play = Play()
    play.join(worker("g1", device="OPTIX"), worker("g2", device="OPTIX"))
    play.submit(frames="1-2", device="optix")
    play.succeed(play.orders()[0], report(in_order=(CLOTH,)))
    _, bound = only(play)
    play.succeed(play.orders()[0])
    [running] = play.orders()
    play.sent.clear()
    play.tell(told.WorkerJoined(worker(bound), ()))
    assert running.task == "j1/2/whole"
    assert only(play) == ("j1/2/whole", ({"g1", "g2"} - {bound}).pop())
