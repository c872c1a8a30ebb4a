"""Movies are made of frames, once they are all there."""

from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.domain.states import JobState, TaskState
from farm.domain.task import TaskKind
from farm.domain.work import Cause, Role
from tests.unit.dispatch.play import Play, report, stored, worker


@pytest.fixture
def play() -> Play:
    """A job of three frames whose scene asks for a movie, planned."""
    play = Play()
    play.join(worker("w1"), worker("w2"))
    play.submit(frames="1-3")
    play.succeed(play.orders()[0], report(movie=True, output_name="shot_####"))
    return play


def frames_done(play: Play) -> None:
    while play.orders(TaskKind.FRAME):
        play.succeed(play.orders(TaskKind.FRAME)[0])


def test_the_movie_comes_after_the_last_frame_and_ends_the_job(play: Play) -> None:
    frames_done(play)
    [encode] = play.orders()
    assert (encode.task, encode.kind, encode.pictures) == ("j1/encode", TaskKind.ENCODE, ())
    assert play.jobs["j1"].state is JobState.RENDERING
    play.succeed(encode)
    assert play.jobs["j1"].state is JobState.DONE


def test_while_the_movie_is_made_other_workers_render_other_jobs(play: Play) -> None:
    frames_done(play)
    play.now += 1
    play.submit("j2", frames="1")
    assert sorted(order.task for order in play.orders()) == ["j1/encode", "j2/inspect"]


def test_a_movie_that_cannot_be_made_fails_the_job_and_says_that_the_frames_are_there(play: Play) -> None:
    frames_done(play)
    for _ in range(3):
        [encode] = play.orders()
        play.fail(encode, Cause.BAD_RESULT, "This codec is not there.")
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error == "The movie could not be made: This codec is not there."
    assert play.jobs["j1"].cure == "All its frames are done and can be fetched. Look."
    assert {play.frames["j1", n].state for n in (1, 2, 3)} == {TaskState.DONE}


def test_a_bad_scene_says_so_too(play: Play) -> None:
    frames_done(play)
    play.fail(play.orders()[0], Cause.BAD_SCENE, "It has no container.")
    assert play.jobs["j1"].error == "The movie could not be made: It has no container."


def test_a_result_without_a_movie_is_refused(play: Play) -> None:
    frames_done(play)
    play.succeed(play.orders()[0], files=(stored(Role.OUTPUT, "0001.png"),))
    assert play.failures[-1].failure is not None
    assert play.failures[-1].failure.what == "The worker sent nothing for encoding the movie."
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_frames_that_failed_leave_no_movie(play: Play) -> None:
    while play.sent:
        order = play.orders()[0]
        play.fail(order) if order.task == "j1/2/whole" else play.succeed(order)
    assert not [key for key in play.tasks if key.kind is TaskKind.ENCODE]
    assert play.jobs["j1"].error.startswith("1 of 3 frames failed.")


def test_losing_the_worker_of_a_movie_is_free(play: Play) -> None:
    frames_done(play)
    [encode] = play.orders()
    play.lose(play.where[encode.attempt_id])
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_job_that_is_cancelled_while_its_movie_is_made_ends(play: Play) -> None:
    frames_done(play)
    [encode] = play.orders()
    play.tell(told.CancelAsked("j1"))
    assert play.jobs["j1"].state is JobState.CANCELLED
    assert play.cancelled == [encode.attempt_id]
    assert play.frames["j1", 1].state is TaskState.DONE


def test_cut_frames_make_a_movie_too() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit(frames="1-2", tiles="2x1", video=True)
    play.succeed(play.orders()[0])
    kinds = []
    while play.sent:
        kinds.append(play.orders()[0].kind.value)
        play.succeed(play.orders()[0])
    assert kinds == ["tile", "tile", "finish"] * 2 + ["encode"]
    assert play.jobs["j1"].state is JobState.DONE
