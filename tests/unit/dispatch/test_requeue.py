"""Frames that are begun again, and jobs that had ended."""

from __future__ import annotations

from farm.dispatch import events as told
from farm.domain.control import Control
from farm.domain.frames import FrameRange
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure
from tests.unit.dispatch.play import Play, report, worker
from tests.unit.dispatch.rebirth import restart, retry


def farm(frames: str, **settings: object) -> Play:
    play = Play()
    play.join(worker("w1"), worker("w2"), worker("w3"))
    play.submit("j1", frames=frames, **({"tiles": "none"} | settings))
    play.succeed(play.orders()[0])
    return play


def fail(play: Play, task: str) -> None:
    """It fails until it is given up; with one worker at a time, so that nothing else goes on meanwhile."""
    key = TaskKey.parse(task)
    play.tell(told.ControlAsked(key.job_id, Control(order="turn", workers=1)))
    while play.rows[key.job_id, key.frame or 0] is not TaskState.FAILED:
        order = next((order for order in play.orders() if order.task == task), play.orders()[-1])
        if order.task == task:
            play.fail(order)
        else:
            play.succeed(order)


def test_failed_frames_of_a_job_that_goes_on_are_opened_again() -> None:
    play = farm("1-40")
    play.succeed(play.orders()[0])
    fail(play, "j1/2/whole")
    assert play.rows["j1", 2] is TaskState.FAILED
    play.tell(told.RequeueAsked("j1"))
    assert play.anew == [2]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert play.commits[TaskKey("j1", TaskKind.FRAME, 1)] == 1


def test_of_named_frames_those_that_run_begin_anew_and_those_that_are_done_stay() -> None:
    play = farm("1-4")
    first, second, _ = play.orders()
    play.succeed(first)
    play.tell(told.RequeueAsked("j1", FrameRange.parse("1-2")))
    assert play.attempts[second.attempt_id] is AttemptState.CANCELLED
    assert second.attempt_id in play.cancelled
    assert play.rows["j1", 1] is TaskState.DONE
    play.succeed(second)  # too late
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert len([a for a, key in play.keys.items() if key.frame == 2]) == 2


def test_a_cut_frame_that_begins_anew_has_none_of_its_pieces() -> None:
    play = farm("1", tiles="2x1")
    left, right = play.orders(TaskKind.TILE)
    play.succeed(left)
    play.tell(told.RequeueAsked("j1", FrameRange.parse("1")))
    assert play.pieces["j1", 1] == {}
    play.fail(right)
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert play.attempts[left.attempt_id] is AttemptState.DROPPED


def test_a_failed_job_goes_on_with_what_failed_and_what_was_never_begun() -> None:
    play = farm("1-9")
    play.succeed(play.orders()[0])
    bad = play.orders()[0]
    play.tell(told.CancelAsked("j1"))
    play.fail(bad)
    retry(play, "j1")
    restart(play, ("w1", "w2", "w3"))
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert (play.jobs["j1"].error, play.jobs["j1"].cure) == ("", "")
    assert {key.frame for key in play.commits if key.frame is not None} == set(range(1, 10))
    assert [frame for frame in play.anew if frame == 1] == []


def test_a_job_whose_inspection_was_cancelled_is_inspected_when_it_is_retried() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit("j1", frames="1", tiles="none")
    [inspect] = play.orders()
    play.tell(told.CancelAsked("j1"))
    play.fail(inspect)
    retry(play, "j1")
    assert [order.task for order in play.orders()] == ["j1/inspect"]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_job_that_lacks_only_its_movie_makes_only_that_when_it_is_retried() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit("j1", frames="1-2", tiles="none")
    play.succeed(play.orders()[0], report(movie=True))
    while not play.orders(TaskKind.ENCODE):
        play.succeed(play.orders()[0])
    [encode] = play.orders()
    play.tell(told.CancelAsked("j1"))
    play.fail(encode)
    retry(play, "j1")
    assert [order.task for order in play.orders()] == ["j1/encode"]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_frames_of_a_proof_begin_again_in_the_class_of_what_they_verify() -> None:
    play = farm("1-9")
    play.finish_all()
    play.verify("j1", "1-9")
    fail(play, "v1/1/verify")
    assert play.rows["v1", 1] is TaskState.FAILED
    play.tell(told.RequeueAsked("v1"))
    restart(play, ("w1", "w2", "w3"))
    play.finish_all()
    assert play.jobs["v1"].state is JobState.DONE
    assert sorted(proof.proof.frame for proof in play.proofs) == list(range(1, 10))


def test_what_is_to_begin_again_ends_with_a_job_that_is_cancelled_in_the_same_turn() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit("a", first=16, frames="1-3", tiles="auto")
    play.finish_all()
    play.add("a", play.plans["a"].ranges, "b1", samples=64, frames="1-3")
    play.succeed(play.orders()[0])
    play.held = True
    play.tell(told.RequeueAsked("b1", FrameRange.parse("1-3")))
    play.tell(told.CancelAsked("b1"))
    assert play.rows["b1", 1] is TaskState.CANCELLED
    play.held = False
    retry(play, "b1")
    for attempt_id in play.cancelled:
        play.tell(told.Failed(attempt_id, Failure(cause=Cause.CANCELLED, what="Cancelled.")))
    play.finish_all()
    assert play.jobs["b1"].state is JobState.DONE
    assert {play.rows["b1", number] for number in (1, 2, 3)} == {TaskState.DONE}


def test_a_frame_that_is_queued_again_is_not_what_its_job_failed_of() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit("j1", frames="1-5", tiles="none")
    play.succeed(play.orders()[0])
    for number in range(1, 6):
        while play.rows["j1", number] is TaskState.RUNNING:
            if number in (2, 4):
                play.fail(play.orders()[0], what=f"Frame {number} is odd.")
            else:
                play.succeed(play.orders()[0])
        if number == 4:
            play.tell(told.RequeueAsked("j1", FrameRange.parse("2")))
            play.succeed(play.orders()[0])
    while play.sent:
        play.succeed(play.orders()[0])
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error == "1 of 5 frames failed. Frame 4: Frame 4 is odd. (3 tries)"
