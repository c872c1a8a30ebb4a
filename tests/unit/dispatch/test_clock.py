"""What waits for a time, where the clock of the machine is set back or forward."""

from __future__ import annotations

from farm.domain.states import JobState, TaskState
from farm.domain.work import Cause
from tests.unit.dispatch.play import AVX2, SSE, Play, worker

HOURS = 5 * 3600.0


def test_a_task_that_waits_for_storage_does_not_wait_for_hours_where_the_clock_is_set_back() -> None:
    play = Play(now=100_000.0)
    play.join(worker("w1"))
    play.submit("j1", frames="1", tiles="none")
    play.succeed(play.orders()[0])
    play.fail(play.orders()[0], Cause.STORAGE)
    assert play.orders() == []
    play.now -= HOURS
    play.assign()
    assert play.orders() == []
    play.now += 2.0
    play.assign()
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_frame_whose_class_is_gone_begins_anew_after_a_minute_where_the_clock_is_set_back() -> None:
    play = Play(now=100_000.0)
    play.join(worker("w1"), worker("w2", render_class=SSE))
    play.submit("j1", frames="1", tiles="2x1")
    play.succeed(play.orders()[0])
    first = play.orders()[0]
    assert first.render_class == AVX2
    play.succeed(first)
    play.lose("w1")
    play.now -= HOURS
    play.assign()
    assert play.anew == []
    play.now += 60.0
    play.assign()
    assert play.anew == [1]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_where_the_clock_is_set_forward_by_hours_nothing_is_killed_or_lost() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit("j1", frames="1-2", tiles="none")
    play.succeed(play.orders()[0])
    play.now += HOURS
    play.assign()
    assert len(play.orders()) == 1
    assert play.rows["j1", 1] is TaskState.RUNNING
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert play.failures == []
