"""Plans of frames that were revised: which pieces there are, and which of them make the frame."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain.order import begun_at
from farm.domain.plan import Plan, Recut, SampleRange

WHOLE = Plan(frames="1-9", width=64, height=36, reason="for tests")
TILED = Plan(frames="1-9", width=64, height=36, grid="2x2", reason="for tests")


def test_a_copy_computes_anew_what_the_first_had_computed() -> None:
    assert len(WHOLE.frame_range) == 9
    assert WHOLE.parts == ()
    copied = WHOLE.model_copy(update={"frames": "1-3"})
    assert len(copied.frame_range) == 3
    assert WHOLE.recut((Recut(grid="3x1"),)).pieces == 3


def test_pieces_are_numbered_on() -> None:
    plan = TILED.recut((Recut(of=3, grid="2x1"), Recut(of=5, grid="1x2", overlap=4)))
    assert plan.pieces == 8
    assert plan.piece(3).tile.core == TILED.piece(3).tile.core
    left, right = plan.piece(4).tile, plan.piece(5).tile
    assert (left.core.x, left.core.width, right.core.x, right.core.width) == (32, 16, 48, 16)
    top = plan.piece(6).tile
    assert (top.core.y, top.core.height) == (18, 9)
    assert (top.rendered.x, top.rendered.y, top.rendered.width, top.rendered.height) == (44, 14, 20, 17)
    with pytest.raises(IndexError):
        plan.piece(8)


def test_the_coarser_way_counts_and_each_pixel_once() -> None:
    plan = TILED.recut((Recut(of=3, grid="2x1"), Recut(of=5, grid="1x2")))
    assert plan.cover({0, 1, 2}) is None
    assert plan.cover({0, 1, 2, 4}) is None
    assert plan.cover({0, 1, 2, 4, 6, 7}) == (0, 1, 2, 4, 6, 7)
    assert plan.cover({0, 1, 2, 4, 5, 6, 7}) == (0, 1, 2, 4, 5)
    assert plan.cover({0, 1, 2, 3, 4, 5, 6}) == (0, 1, 2, 3)


def test_a_whole_frame_that_is_cut_has_only_the_pieces_of_its_revisions() -> None:
    assert WHOLE.cover(()) is None
    plan = WHOLE.recut((Recut(grid="2x1"), Recut(of=1, grid="1x1")))
    assert plan.cover({0}) is None
    assert plan.cover({0, 2}) == (0, 2)
    assert plan.piece(2).tile.core == plan.piece(1).tile.core


def test_a_piece_is_settled_by_what_is_coarser_or_finer() -> None:
    plan = TILED.recut((Recut(of=3, grid="2x1"), Recut(of=5, grid="1x2")))
    assert [piece for piece in range(8) if plan.settled(piece, {3})] == [3, 4, 5, 6, 7]
    assert [piece for piece in range(8) if plan.settled(piece, {4, 6, 7})] == [3, 4, 5, 6, 7]
    assert [piece for piece in range(8) if plan.settled(piece, {0, 5, 6})] == [0, 5, 6, 7]
    whole = WHOLE.recut((Recut(grid="2x1"), Recut(grid="1x2")))
    assert [piece for piece in range(4) if whole.settled(piece, {0})] == [0]


def test_what_is_drawn_lies_beside_each_other() -> None:
    plan = TILED.recut((Recut(of=3, grid="2x1"), Recut(of=5, grid="1x2")))
    assert plan.drawn(()) == (0, 1, 2, 4, 6, 7)
    assert plan.drawn({5}) == (0, 1, 2, 4, 5)
    assert plan.drawn({3, 6}) == (0, 1, 2, 3)
    assert WHOLE.drawn(()) == ()
    assert WHOLE.recut((Recut(grid="2x1"), Recut(of=1, grid="1x1"))).drawn(()) == (0, 2)
    ranged = WHOLE.model_copy(
        update={"ranges": tuple(SampleRange(first=n, count=1, total=2) for n in (0, 1))}
    )
    assert ranged.drawn(()) == (0, 1)


@given(st.data())
def test_a_cover_holds_each_pixel_once(data: st.DataObject) -> None:
    recuts: tuple[Recut, ...] = ()
    plan = data.draw(st.sampled_from([WHOLE, TILED]))
    for _ in range(data.draw(st.integers(0, 3))):
        pieces = plan.recut(recuts).pieces
        of = data.draw(st.none() | st.integers(0, pieces - 1)) if pieces else None
        recuts += (Recut(of=of, grid=data.draw(st.sampled_from(["1x1", "2x1", "1x3", "2x2"]))),)
    plan = plan.recut(recuts)
    there = data.draw(st.sets(st.sampled_from(range(plan.pieces)))) if plan.pieces else set()
    cover = plan.cover(there)
    seen = [[0] * 64 for _ in range(36)]
    for piece in cover or ():
        core = plan.piece(piece).tile.core
        for y in range(core.y, core.y + core.height):
            for x in range(core.x, core.x + core.width):
                seen[y][x] += 1
    if cover is not None:
        assert set(cover) <= there
        assert all(count == 1 for row in seen for count in row)
    boxes = [plan.piece(piece).tile.core for piece in plan.drawn(there)]
    assert sum(box.width * box.height for box in boxes) == (64 * 36 if plan.pieces else 0)


@given(st.sampled_from(["turn", "preview", "every:1", "every:3", "every:10"]), st.integers(0, 60))
def test_every_frame_is_begun_once(order: str, count: int) -> None:
    assert sorted(begun_at(order, index, count) for index in range(count)) == list(range(count))


def test_the_first_the_last_and_the_middle_frame_are_begun_first() -> None:
    assert [begun_at("preview", i, 7) for i in range(7)] == [0, 6, 3, 1, 2, 4, 5]
    assert [begun_at("every:3", i, 8) for i in range(8)] == [0, 3, 6, 1, 2, 4, 5, 7]
