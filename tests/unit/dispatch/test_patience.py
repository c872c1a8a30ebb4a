from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.domain.costs import Costs
from farm.domain.states import AttemptState, JobState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Order, Progress
from tests.unit.dispatch.play import Play, worker
from tests.unit.dispatch.rebirth import restart


def begun(play: Play, frames: str = "1-9", **settings: object) -> Order:
    """A job whose first frame runs; on one worker."""
    play.join(worker("w1"))
    play.submit(frames=frames, **({"tiles": "none"} | settings))
    play.succeed(play.orders()[0])
    return play.orders()[0]


@pytest.fixture
def play() -> Play:
    return Play()


def move(play: Play, order: Order, sample: int, after: float) -> None:
    pass_time(play, after)
    play.tell(told.Progressed(order.attempt_id, Progress(phase="rendering", sample=sample, samples=64)))


def pass_time(play: Play, seconds: float) -> None:
    """The loop looks around all the while."""
    until = play.now + seconds
    while play.now < until:
        play.now = min(play.now + 20, until)
        play.assign()


def test_of_the_first_frames_nothing_is_known(play: Play) -> None:
    assert begun(play).patience is None


@pytest.mark.parametrize(
    ("longest", "patience"),
    [(2, 60.0), (12, 60.0), (40, 200.0), (100, 500.0), (500, 900.0)],
)
def test_patience_is_five_times_the_longest_stillness_within_limits(
    play: Play, longest: float, patience: float
) -> None:
    order = begun(play)
    move(play, order, 1, 1)
    move(play, order, 2, longest)
    move(play, order, 3, 1)
    play.succeed(order)
    assert play.orders()[0].patience == patience


def test_the_time_from_the_start_and_to_the_end_counts_too(play: Play) -> None:
    order = begun(play)
    move(play, order, 1, 30)
    pass_time(play, 50)
    play.succeed(order)
    assert play.orders()[0].patience == 250.0


def test_the_same_count_told_again_is_no_move(play: Play) -> None:
    order = begun(play)
    for _ in range(5):
        move(play, order, 1, 20)
    play.succeed(order)
    assert play.orders()[0].patience == 5 * 80


def test_what_failed_teaches_nothing(play: Play) -> None:
    order = begun(play)
    pass_time(play, 100)
    play.fail(order)
    assert play.orders()[0].patience is None


def test_a_task_that_failed_has_twice_as_long(play: Play) -> None:
    order = begun(play)
    pass_time(play, 20)
    play.succeed(order)
    [second] = play.orders()
    assert second.patience == 100.0
    play.fail(second, Cause.HANG)
    assert play.orders()[0].patience == 200.0


def test_each_kind_of_task_has_its_own(play: Play) -> None:
    order = begun(play, tiles="2x1")
    pass_time(play, 100)
    play.succeed(order)
    [second] = play.orders()
    assert (second.task, second.patience) == ("j1/1/tile-1", 500.0)
    play.succeed(second)
    [finish] = play.orders()
    assert (finish.kind, finish.patience) == (TaskKind.FINISH, None)


def test_where_only_whole_frames_seconds_are_known_they_count(play: Play) -> None:
    play.join(worker("w1"))
    play.submit(frames="1-3", tiles="none")
    job = play.core.state.jobs["j1"]
    job.costs = Costs(seen=2.0, load=10.0, sync=20.0, render=60.0, rest=10.0)
    play.succeed(play.orders()[0])
    assert play.orders()[0].patience == 300.0


def test_after_a_restart_an_attempt_teaches_nothing_as_its_start_was_not_seen(play: Play) -> None:
    order = begun(play)
    restart(play, ["w1"])
    play.succeed(order)
    assert play.core.state.jobs["j1"].stillness == {}


def known(play: Play) -> Order:
    """The second frame, with a patience of a minute."""
    play.succeed(begun(play))
    [order] = play.orders()
    assert order.patience == 60.0
    return order


def test_a_worker_that_tells_of_no_move_for_far_too_long_is_not_waited_for(play: Play) -> None:
    order = known(play)
    play.join(worker("w2"))
    pass_time(play, 10 * 60 + 4500)
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING
    pass_time(play, 10)
    assert play.attempts[order.attempt_id] is AttemptState.FAILED
    assert order.attempt_id in play.cancelled
    ended = next(ended for ended in play.failures if ended.attempt_id == order.attempt_id)
    assert ended.failure is not None
    assert ended.failure.cause is Cause.HANG
    assert ended.failure.what == "w1 answers, but has told of no progress for 85 minutes."
    assert ended.retry
    assert play.core.state.workers["w1"].attempt == order.attempt_id  # until it says that it is free


def test_each_move_is_a_sign_of_life(play: Play) -> None:
    order = known(play)
    for sample in range(5):
        move(play, order, sample, 4000)
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING


def test_where_nothing_is_known_nobody_is_hurried(play: Play) -> None:
    order = begun(play)
    pass_time(play, 100_000)
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING


def test_a_head_that_slept_blames_nobody(play: Play) -> None:
    order = known(play)
    play.now += 100_000  # the lid was closed
    play.assign()
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING
    pass_time(play, 10 * 60 + 4500)
    assert play.attempts[order.attempt_id] is AttemptState.RUNNING
    pass_time(play, 30)
    assert play.attempts[order.attempt_id] is AttemptState.FAILED


def test_a_worker_that_holds_every_frame_for_ever_does_not_keep_a_job_from_its_end(play: Play) -> None:
    known(play)
    play.join(worker("w2"))
    for _ in range(1500):
        for order in [o for o in play.orders() if play.where[o.attempt_id] == "w2"]:
            play.succeed(order)
        pass_time(play, 20)
        if play.jobs["j1"].state is JobState.DONE:
            break
    assert play.jobs["j1"].state is JobState.DONE
    assert play.commits[TaskKey.parse("j1/2/whole")] == 1
