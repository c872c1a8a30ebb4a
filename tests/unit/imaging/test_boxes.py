from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain.tiles import Size, TileGrid
from workers.child import Refusal
from workers.imaging.boxes import check_boxes
from workers.protocol import PieceFile


def pieces(*boxes: list[int]) -> list[PieceFile]:
    return [PieceFile("/piece.exr", box, box) for box in boxes]


def fault(width: int, height: int, given_pieces: list[PieceFile]) -> str:
    with pytest.raises(Refusal) as caught:
        check_boxes(given_pieces, width, height)
    assert caught.value.cause == "bad-result"
    return caught.value.what


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 6), st.integers(1, 6), st.integers(0, 70))
def test_every_grid_of_the_planner_is_taken(
    width: int, height: int, columns: int, rows: int, overlap: int
) -> None:
    grid, size = TileGrid(min(columns, width), min(rows, height)), Size(width, height)
    check_boxes(
        [
            PieceFile("", list(dataclasses.astuple(tile.rendered)), list(dataclasses.astuple(tile.core)))
            for tile in grid.tiles(size.box, overlap)
        ],
        width,
        height,
    )


def test_a_gap_in_an_area_is_told_in_the_frames_coordinates() -> None:
    with pytest.raises(Refusal) as caught:
        check_boxes(pieces([3, 2, 2, 2], [6, 2, 1, 2]), 10, 8, [3, 2, 4, 2])
    assert caught.value.what == (
        "The 2 pieces leave 2 of 8 pixels of the frame uncovered, the first at 5, 2."
    )


@pytest.mark.parametrize("area", [[0, 0, 11, 4], [-1, 0, 4, 4], [0, 0, 0, 4], [0, 0, 4]])
def test_an_area_outside_of_the_frame_is_refused(area: list[int]) -> None:
    with pytest.raises(Refusal) as caught:
        check_boxes(pieces([0, 0, 4, 4]), 10, 4, area)
    assert caught.value.what.startswith("The area of the pieces is outside of the frame")


def test_a_piece_outside_of_the_area_is_refused() -> None:
    with pytest.raises(Refusal):
        check_boxes(pieces([0, 0, 5, 4]), 10, 4, [1, 0, 4, 4])


def test_a_gap_is_told_with_its_size_and_place() -> None:
    assert fault(10, 4, pieces([0, 0, 5, 4], [6, 0, 4, 4])) == (
        "The 2 pieces leave 4 of 40 pixels of the frame uncovered, the first at 5, 0."
    )


def test_no_pieces_cover_nothing() -> None:
    assert fault(3, 2, []) == "The 0 pieces leave 6 of 6 pixels of the frame uncovered, the first at 0, 0."


def test_an_overlap_of_cores_is_told() -> None:
    assert (
        fault(10, 4, pieces([0, 0, 6, 4], [5, 0, 5, 4])) == "Piece 2 of 2 overlaps another piece in 4 pixels."
    )


def test_the_same_piece_twice_is_an_overlap() -> None:
    assert (
        fault(4, 4, pieces([0, 0, 4, 4], [0, 0, 4, 4])) == "Piece 2 of 2 overlaps another piece in 16 pixels."
    )


@pytest.mark.parametrize("box", [[-1, 0, 5, 4], [0, 0, 11, 4], [0, 3, 10, 2], [0, 0, 0, 4], [0, 0, 4, -1]])
def test_a_piece_outside_of_the_frame_is_told(box: list[int]) -> None:
    assert fault(10, 4, pieces(box)).startswith("Piece 1 of 1 was rendered outside of the frame (")


def test_a_core_outside_of_what_was_rendered_is_told() -> None:
    assert fault(10, 4, [PieceFile("", [0, 0, 5, 4], [0, 0, 6, 4])]) == (
        "Piece 1 of 1 counts for pixels that it did not render (6×4 at 0, 0)."
    )


@pytest.mark.parametrize("box", [[], [0, 0, 10], [0, 0, 10, 4, 1]])
def test_what_is_not_four_numbers_is_no_box(box: list[int]) -> None:
    assert fault(10, 4, pieces(box)).endswith("is not a box.")


def test_a_frame_without_pixels_is_refused() -> None:
    assert fault(0, 4, []) == "A frame cannot be 0×4 pixels."
