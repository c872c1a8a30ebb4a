from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.dispatch import late
from farm.domain.scene import Finding, Weight
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure, Order, Progress
from tests.unit.dispatch.play import SSE, Play, report, worker
from tests.unit.dispatch.rebirth import restart

CLOTH = Finding(code="cloth", weight=Weight.NOTE, what="A cloth.")


def farm_of(*names: str) -> Play:
    play = Play()
    play.join(*map(worker, names))
    return play


def planned(play: Play, frames: str = "1", **settings: object) -> None:
    play.submit(frames=frames, **({"tiles": "none"} | settings))
    play.succeed(play.orders(TaskKind.INSPECT)[0])


def lose_at_work(play: Play, name: str) -> Order:
    """A worker is out of reach, with what it does."""
    [order] = [order for order in play.orders() if play.where[order.attempt_id] == name]
    play.lose(name)
    assert play.attempts[order.attempt_id] is AttemptState.LOST
    return order


def test_a_worker_that_comes_back_goes_on_where_its_task_waits() -> None:
    play = farm_of("w1")
    planned(play)
    order = lose_at_work(play, "w1")
    play.come_back(worker("w1"), order)
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING
    assert play.cancelled == []
    assert [sent.attempt_id for sent in play.orders()] == [order.attempt_id]
    assert play.frames["j1", 1].state is TaskState.RUNNING
    play.succeed(order)
    assert play.attempts[order.attempt_id] is AttemptState.DONE
    assert play.jobs["j1"].state is JobState.DONE


def test_what_goes_on_counts_on_and_can_fail_as_any_other() -> None:
    play = farm_of("w1")
    planned(play)
    order = lose_at_work(play, "w1")
    play.come_back(worker("w1"), order)
    told_of = play.core.handle(told.Progressed(order.attempt_id, Progress(phase="rendering")), play.now)
    assert len(told_of) == 1
    play.fail(order)
    [again] = play.orders()
    assert again.attempt_id != order.attempt_id


def test_where_another_is_at_the_task_whoever_is_first_counts_the_first_one() -> None:
    play = farm_of("w1", "w2")
    planned(play)
    order = lose_at_work(play, "w1")
    [newer] = play.orders()
    assert play.where[newer.attempt_id] == "w2"
    play.come_back(worker("w1"), order)
    assert play.cancelled == []
    play.succeed(order)
    assert play.commits[TaskKey.parse(order.task)] == 1
    assert play.attempts[order.attempt_id] is AttemptState.DONE
    assert play.attempts[newer.attempt_id] is AttemptState.CANCELLED
    assert play.cancelled == [newer.attempt_id]
    assert play.jobs["j1"].state is JobState.DONE


def test_where_another_is_at_the_task_whoever_is_first_counts_the_newer_one() -> None:
    play = farm_of("w1", "w2")
    planned(play)
    order = lose_at_work(play, "w1")
    [newer] = play.orders()
    play.come_back(worker("w1"), order)
    play.succeed(newer)
    assert play.cancelled == [order.attempt_id]  # it would render for nothing
    assert play.jobs["j1"].state is JobState.DONE
    play.succeed(order)
    assert play.commits[TaskKey.parse(order.task)] == 1
    assert play.attempts[order.attempt_id] is AttemptState.LOST
    assert play.core.state.workers["w1"].attempt is None


def test_a_result_that_was_there_when_its_worker_came_back_is_committed() -> None:
    play = farm_of("w1", "w2")
    planned(play, "1-3")
    order = lose_at_work(play, "w1")
    play.come_back(worker("w1"), order)  # it has ended, but was not acknowledged
    play.succeed(order)
    assert play.frames["j1", 1].state is TaskState.DONE
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert set(play.commits.values()) == {1}


def test_a_late_failure_changes_nothing() -> None:
    play = farm_of("w1", "w2")
    planned(play)
    order = lose_at_work(play, "w1")
    [newer] = play.orders()
    play.come_back(worker("w1"), order)
    play.fail(order)
    assert play.attempts[newer.attempt_id] is AttemptState.RUNNING
    assert play.core.state.jobs["j1"].tasks[TaskKey.parse(order.task)].failures == 0
    play.succeed(order)  # it takes nothing back
    assert play.commits[TaskKey.parse(order.task)] == 0


def test_a_late_result_without_its_picture_is_dropped_and_costs_nothing() -> None:
    play = farm_of("w1", "w2")
    planned(play)
    order = lose_at_work(play, "w1")
    [newer] = play.orders()
    play.come_back(worker("w1"), order)
    play.succeed(order, files=())
    assert play.attempts[newer.attempt_id] is AttemptState.RUNNING
    assert play.core.state.workers["w1"].attempt is None
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_what_comes_late_of_a_job_that_has_ended_is_dropped_and_stopped() -> None:
    play = farm_of("w1", "w2")
    planned(play, "1-2")
    order = lose_at_work(play, "w1")
    play.come_back(worker("w1"), order)
    play.tell(told.CancelAsked("j1"))
    assert order.attempt_id in play.cancelled
    assert play.core.state.lost == {}
    play.succeed(order)
    assert play.commits[TaskKey.parse(order.task)] == 0


def test_a_worker_that_comes_back_after_the_end_of_its_task_is_stopped() -> None:
    play = farm_of("w1", "w2")
    planned(play)
    order = lose_at_work(play, "w1")
    play.finish_all()
    play.come_back(worker("w1"), order)
    assert play.cancelled == [order.attempt_id]


def test_pieces_are_taken_late_too() -> None:
    play = farm_of("w1", "w2")
    planned(play, tiles="2x1")
    order = lose_at_work(play, "w1")
    play.come_back(worker("w1"), order)
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_worker_that_comes_back_as_another_class_does_not_go_on_with_a_piece() -> None:
    play = farm_of("w1", "w2")
    planned(play, tiles="2x1")
    order = lose_at_work(play, "w1")
    play.come_back(worker("w1", render_class=SSE), order)
    assert play.cancelled == [order.attempt_id]
    assert play.attempts[order.attempt_id] is AttemptState.LOST


def test_a_piece_of_another_class_that_comes_late_is_not_committed() -> None:
    play = farm_of("w1", "w2")
    planned(play, tiles="2x1")
    order = lose_at_work(play, "w1")
    play.join(worker("w1"))
    play.succeed(order, render_class=SSE)
    assert play.commits[TaskKey.parse(order.task)] == 0
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_what_was_lost_before_a_frame_began_anew_is_dropped() -> None:
    play = farm_of("w1")
    planned(play, tiles="2x1")
    play.succeed(play.orders()[0])
    order = lose_at_work(play, "w1")
    play.join(worker("w2", render_class=SSE))
    play.now += 61
    play.assign()
    assert play.anew == [1]
    play.come_back(worker("w1"), order)
    assert play.cancelled == [order.attempt_id]
    play.succeed(order)
    assert play.commits[TaskKey.parse(order.task)] == 0
    play.finish_all()
    assert play.left["j1", 1].render_class == SSE


def test_a_finish_that_was_lost_before_a_piece_was_found_at_fault_is_dropped() -> None:
    play = farm_of("w1", "w2")
    planned(play, tiles="2x1")
    for order in play.orders(TaskKind.TILE):
        play.succeed(order)
    [finish] = play.orders(TaskKind.FINISH)
    name = play.where[finish.attempt_id]
    lose_at_work(play, name)
    [second] = play.orders(TaskKind.FINISH)
    play.blame(second, 0)
    play.come_back(worker(name), finish)
    assert finish.attempt_id in play.cancelled
    play.succeed(finish)
    assert play.commits[TaskKey.parse(finish.task)] == 0
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_of_frames_in_order_none_goes_on_beside_another() -> None:
    play = farm_of("w1", "w2")
    play.submit(frames="1-3", tiles="none")
    play.succeed(play.orders()[0], report(in_order=(CLOTH,)))
    [order] = play.orders()
    name = play.where[order.attempt_id]
    play.lose(name)
    [newer] = play.orders()
    play.come_back(worker(name), order)
    assert play.cancelled == [order.attempt_id]
    play.succeed(newer)
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_frame_in_order_goes_on_where_nothing_else_runs() -> None:
    play = farm_of("w1")
    play.submit(frames="1-3", tiles="none")
    play.succeed(play.orders()[0], report(in_order=(CLOTH,)))
    order = lose_at_work(play, "w1")
    play.come_back(worker("w1"), order)
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING
    assert play.core.state.jobs["j1"].bound == "w1"


@pytest.mark.parametrize("kind", [TaskKind.INSPECT, TaskKind.FRAME])
def test_after_a_restart_a_worker_that_came_too_late_goes_on(kind: TaskKind) -> None:
    play = farm_of("w1")
    play.submit(frames="1", tiles="none")
    if kind is TaskKind.FRAME:
        play.succeed(play.orders()[0])
    [order] = play.orders()
    restart(play, ())  # nobody was met
    assert play.attempts[order.attempt_id] is AttemptState.LOST
    restart(play, ())
    play.come_back(worker("w1"), order)
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_worker_that_comes_back_with_another_ones_attempt_is_stopped() -> None:
    play = farm_of("w1", "w2")
    planned(play, "1-2")
    order = lose_at_work(play, "w1")
    play.tell(told.WorkerJoined(worker("w3"), (order.attempt_id,)))
    assert order.attempt_id in play.cancelled


def test_what_is_remembered_of_lost_attempts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late, "MOST_LOST", 3)
    play = farm_of(*(f"w{number}" for number in range(6)))
    planned(play, "1-6")
    orders = [lose_at_work(play, f"w{number}") for number in range(6)]
    assert list(play.core.state.lost) == [order.attempt_id for order in orders[3:]]


def test_a_worker_that_was_taken_back_brings_nothing_late() -> None:
    play = farm_of("w1")
    planned(play)
    [order] = play.orders()
    play.sent.clear()
    play.tell(told.Failed(order.attempt_id, Failure(cause=Cause.PREEMPTED, what="Its owner is back.")))
    assert play.core.state.lost == {}
