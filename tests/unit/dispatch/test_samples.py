"""Frames cut by samples, the first of them now, and others added later."""

from __future__ import annotations

import pytest

from farm.dispatch.state import Earlier
from farm.domain.plan import SampleRange
from farm.domain.states import JobState, TaskState
from farm.domain.task import TaskKind
from farm.domain.work import Order
from tests.unit.dispatch.play import AVX2, SSE, Play, piece_at, worker

FIRST = (SampleRange(first=0, count=32, total=128), SampleRange(first=32, count=32, total=128))


@pytest.fixture
def play() -> Play:
    """Frames 1 and 2 of job j1 have the first 64 of 128 samples, in two pieces each."""
    play = Play()
    play.join(worker("w1"), worker("w2"))
    for frame in (1, 2):
        pieces = {tile: piece_at(tile, f"jobs/j1/{frame}/{tile}") for tile in (0, 1)}
        play.left["j1", frame] = Earlier(AVX2, pieces)
    return play


def adding(play: Play, frames: str = "1-2", **settings: object) -> None:
    play.add("j1", FIRST, frames=frames, **({"samples": 128} | settings))
    [inspect] = play.orders()
    play.succeed(inspect)


def finish(play: Play) -> Order:
    [order] = play.orders(TaskKind.FINISH)
    return order


def test_a_frame_is_rendered_by_its_samples_and_merged() -> None:
    play = Play()
    play.join(worker("w1"), worker("w2"))
    play.submit(frames="1", split="samples", samples=128)
    play.succeed(play.orders()[0])
    assert [order.task for order in play.orders()] == ["j1/1/tile-0", "j1/1/tile-1"]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert play.dropped == [1]


def test_pieces_to_which_samples_can_be_added_outlive_their_frame() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit(frames="1-2", samples=128, first=32)
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert play.dropped == []
    assert list(play.left["j1", 1].pieces.values()) == [play.pieces["j1", 1][0]]


def test_pieces_of_a_frame_that_failed_are_of_no_use_to_anyone() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit(frames="1", samples=128, first=64, split="samples:2")
    play.succeed(play.orders()[0])
    play.succeed(play.orders()[0])
    for _ in range(3):
        play.fail(play.orders()[0])
    assert play.frames["j1", 1].state is TaskState.FAILED
    assert play.dropped == [1]


def test_only_what_is_missing_is_rendered_and_merged_with_what_is_there(play: Play) -> None:
    adding(play)
    assert [order.task for order in play.orders()] == ["b1/1/tile-2", "b1/2/tile-2"]
    assert play.orders()[0].plan is not None
    assert play.orders()[0].plan.piece(2).samples == SampleRange(first=64, count=64, total=128)
    play.succeed(play.orders()[0])
    order = finish(play)
    assert [piece.key for piece in order.pieces[:2]] == ["jobs/j1/1/0", "jobs/j1/1/1"]
    assert order.pieces[2].key.startswith("jobs/b1/frames/0001/tile-0002/")
    play.finish_all()
    assert play.jobs["b1"].state is JobState.DONE
    assert play.dropped == []  # more samples can be added to these again
    assert play.frames["b1", 1].seconds == 4.0


def test_the_class_of_what_is_there_is_the_class_of_the_frame(play: Play) -> None:
    play.left["j1", 1] = Earlier(SSE, {t: piece_at(t, f"sse/{t}", SSE) for t in (0, 1)})
    play.join(worker("w3", render_class=SSE))
    adding(play, "1")
    [order] = play.orders()
    assert (play.where[order.attempt_id], order.render_class) == ("w3", SSE)


def test_a_frame_whose_class_is_gone_is_rendered_as_a_whole_on_another(play: Play) -> None:
    play.left["j1", 1] = Earlier(SSE, {t: piece_at(t, f"sse/{t}", SSE) for t in (0, 1)})
    adding(play)
    play.finish_all()
    assert play.frames["b1", 2].state is TaskState.DONE
    play.now += 60
    play.assign()
    assert play.anew == [1]
    assert play.orders(TaskKind.TILE)
    play.finish_all()
    assert play.jobs["b1"].state is JobState.DONE
    assert [ref.key.startswith("jobs/b1/") for ref in play.pieces["b1", 1].values()] == [True] * 3


def test_a_piece_that_is_not_there_any_more_is_rendered_here(play: Play) -> None:
    play.left["j1", 1] = Earlier(AVX2, {0: piece_at(0, "jobs/j1/1/0")})
    adding(play, "1")
    assert [order.task for order in play.orders()] == ["b1/1/tile-1", "b1/1/tile-2"]
    play.finish_all()
    assert play.jobs["b1"].state is JobState.DONE


def test_a_piece_of_the_earlier_job_that_is_at_fault_is_rendered_here(play: Play) -> None:
    adding(play, "1")
    play.succeed(play.orders()[0])
    play.blame(finish(play), 0)
    [again] = play.orders()
    assert again.task == "b1/1/tile-0"
    play.succeed(again)
    assert [(p.key.split("/")[1], p.renders) for p in finish(play).pieces] == [
        ("b1", 2),
        ("j1", 1),
        ("b1", 1),
    ]
    play.succeed(finish(play))
    assert play.jobs["b1"].state is JobState.DONE


def test_adding_to_a_job_that_kept_nothing_fails_with_a_sentence(play: Play) -> None:
    play.add("j0", (), samples=128, frames="1")
    play.succeed(play.orders()[0])
    assert play.jobs["b1"].state is JobState.FAILED
    assert play.jobs["b1"].error == "The earlier job kept no samples that could be added to."


def test_independent_samples_get_a_seed_of_their_own(play: Play) -> None:
    adding(play, "1", samples=512)
    [order] = play.orders()
    assert order.plan is not None
    assert order.plan.piece(2).samples == SampleRange(first=0, count=448, total=448, seed=1)
    assert not order.plan.exact
