"""Pieces that a finish finds at fault are rendered again, elsewhere if they can, and not for ever."""

from __future__ import annotations

import pytest

from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Order
from tests.unit.dispatch.play import SSE, Play, worker


@pytest.fixture
def play() -> Play:
    """Three workers have rendered the four tiles of a frame, and its finish is on its way."""
    play = Play()
    play.join(worker("w1"), worker("w2"), worker("w3"))
    play.submit(frames="7", tiles="2x2")
    play.succeed(play.orders()[0])
    while play.orders(TaskKind.TILE):
        play.succeed(play.orders(TaskKind.TILE)[0])
    return play


def finish(play: Play) -> Order:
    [order] = play.orders(TaskKind.FINISH)
    return order


def maker(play: Play, tile: int) -> str:
    """The worker of the newest attempt at a tile."""
    key = TaskKey("j1", TaskKind.TILE, 7, tile)
    return play.where[[a for a, k in play.keys.items() if k == key][-1]]


def test_only_the_pieces_at_fault_are_rendered_again_and_the_finish_waits_for_them(play: Play) -> None:
    assert [piece.renders for piece in finish(play).pieces] == [1, 1, 1, 1]
    play.blame(finish(play), 1, 3)
    assert [order.task for order in play.orders()] == ["j1/7/tile-1", "j1/7/tile-3"]
    for order in play.orders():
        assert not play.orders(TaskKind.FINISH)
        play.succeed(order)
    assert [piece.renders for piece in finish(play).pieces] == [1, 2, 1, 2]
    play.succeed(finish(play))
    assert play.jobs["j1"].state is JobState.DONE
    assert play.frames["j1", 7].seconds == 10.0  # of the four pieces that count, and the finish


def test_what_made_them_counts_no_more_and_the_others_do(play: Play) -> None:
    play.blame(finish(play), 1)
    states = {
        key.tile: [play.attempts[a] for a, k in play.keys.items() if k == key]
        for key in play.tasks
        if key.kind is TaskKind.TILE
    }
    assert states == {
        0: [AttemptState.DONE],
        1: [AttemptState.DROPPED, AttemptState.RUNNING],
        2: [AttemptState.DONE],
        3: [AttemptState.DONE],
    }
    assert play.failures[-1].retry


def test_the_worker_that_made_it_is_avoided_where_there_are_others(play: Play) -> None:
    for _ in range(2):
        before = maker(play, 0)
        play.blame(finish(play), 0)
        assert maker(play, 0) != before
        play.succeed(play.orders(TaskKind.TILE)[0])


def test_where_there_is_no_other_worker_it_renders_again_itself() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit(frames="7", tiles="2x1")
    for _ in range(3):
        play.succeed(play.orders()[0])
    play.join(worker("w2", render_class=SSE))  # of another class, and so of no help
    play.blame(finish(play), 0)
    assert maker(play, 0) == "w1"


def test_a_piece_at_fault_for_the_third_time_ends_the_frame(play: Play) -> None:
    for _ in range(2):
        play.blame(finish(play), 2)
        play.succeed(play.orders(TaskKind.TILE)[0])
    play.blame(finish(play), 2, what="Piece 3 is damaged.")
    assert play.frames["j1", 7].state is TaskState.FAILED
    assert play.frames["j1", 7].error == "Piece 3 is damaged. (rendered 3 times)"
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.dropped == [7]


def test_faults_of_pieces_are_not_counted_against_the_finish(play: Play) -> None:
    for tile in (0, 1, 2, 3):
        play.blame(finish(play), tile)
        play.succeed(play.orders(TaskKind.TILE)[0])
    for _ in range(2):
        play.fail(finish(play))
    play.succeed(finish(play))
    assert play.jobs["j1"].state is JobState.DONE


@pytest.mark.parametrize("pieces", [(), (4,), (-1, 99)])
def test_a_finish_that_blames_what_is_not_there_has_failed_itself(
    play: Play, pieces: tuple[int, ...]
) -> None:
    for _ in range(3):
        play.blame(finish(play), *pieces)
    assert play.frames["j1", 7].error == "Piece 1 is black. (3 tries)"


def test_a_piece_that_fails_to_be_rendered_again_ends_the_frame_as_any_other(play: Play) -> None:
    play.blame(finish(play), 0)
    for _ in range(3):
        play.fail(play.orders(TaskKind.TILE)[0], Cause.CRASH)
    assert play.frames["j1", 7].state is TaskState.FAILED


def test_a_frame_that_begins_anew_forgets_what_was_at_fault(play: Play) -> None:
    play.blame(finish(play), 0)
    for name in ("w1", "w2", "w3"):
        play.lose(name)
    play.join(worker("w4", render_class=SSE))
    play.now += 60
    play.assign()
    assert play.anew == [7]
    while play.orders(TaskKind.TILE):
        play.succeed(play.orders(TaskKind.TILE)[0])
    assert [(piece.renders, piece.render_class) for piece in finish(play).pieces] == [(1, SSE)] * 4
