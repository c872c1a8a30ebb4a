"""What pieces cover: together every pixel of the frame exactly once, or every sample of its picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workers.child import Refusal
from workers.protocol import PieceFile


def check_boxes(
    pieces: Sequence[PieceFile], width: int, height: int, area: Sequence[int] | None = None
) -> None:
    """Raise `Refusal` unless the cores tile ``area`` of the frame without gap or overlap.

    Boxes are [x, y, width, height], y down, in the frame of ``width`` × ``height`` pixels, which is the
    area where none is given. Each core lies in what was rendered, and that in the area.
    """
    left, top, across, down = checked_area(width, height, area)
    covered = np.zeros((down, across), bool)
    for number, piece in enumerate(pieces, start=1):
        name = f"Piece {number} of {len(pieces)}"
        _check_piece(piece, name, [left, top, across, down])
        x, y, wide, high = piece.core
        cell = covered[y - top : y - top + high, x - left : x - left + wide]
        if cell.any():
            raise Refusal("bad-result", f"{name} overlaps another piece in {np.count_nonzero(cell)} pixels.")
        cell[:] = True
    missing = covered.size - int(np.count_nonzero(covered))
    if missing:
        y, x = divmod(int(np.argmin(covered)), across)
        raise Refusal(
            "bad-result",
            f"The {len(pieces)} pieces leave {missing} of {covered.size} pixels of the frame uncovered, "
            f"the first at {left + x}, {top + y}.",
            "Render the missing piece.",
        )


def check_ranges(
    pieces: Sequence[PieceFile], width: int, height: int, area: Sequence[int] | None = None
) -> None:
    """Raise `Refusal` unless every piece is the whole area, and their samples fit each other.

    Ranges are [first, count, total, seed]. Those of one total and seed are of one picture: they begin at
    sample 0 and go on without gap or overlap, not necessarily up to the total.
    """
    box = checked_area(width, height, area)
    pictures: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
    for number, piece in enumerate(pieces, start=1):
        name = f"Piece {number} of {len(pieces)}"
        if piece.samples is None:
            raise Refusal("bad-result", f"{name} is a part of the area, and others are parts of the samples.")
        _check_piece(piece, name, box)
        if piece.core != box:
            raise Refusal("bad-result", f"{name} has some of the samples, but not of the whole area.")
        if len(piece.samples) != 4 or piece.samples[1] < 1 or min(piece.samples) < 0:
            raise Refusal("bad-result", f"{name}: {piece.samples} is no range of samples.")
        first, count, total, seed = piece.samples
        if first + count > total:
            raise Refusal("bad-result", f"{name} has samples beyond the total of {total}.")
        pictures.setdefault((total, seed), []).append((first, count, name))
    for ranges in pictures.values():
        end = 0
        for first, count, name in sorted(ranges):
            if first > end:
                raise Refusal(
                    "bad-result",
                    f"Samples {end + 1} to {first} are in none of the {len(pieces)} pieces.",
                    "Render the missing piece.",
                )
            if first < end:
                raise Refusal("bad-result", f"{name} has samples that another piece has too.")
            end = first + count


def checked_area(width: int, height: int, area: Sequence[int] | None) -> list[int]:
    """The area that pieces cover, as [x, y, width, height]; raises `Refusal`."""
    if width < 1 or height < 1:
        raise Refusal("bad-result", f"A frame cannot be {width}×{height} pixels.")
    frame = [0, 0, width, height]
    if area is None:
        return frame
    _check_inside(area, frame, "The area of the pieces is outside of the frame")
    return list(area)


def _check_piece(piece: PieceFile, name: str, area: Sequence[int]) -> None:
    _check_inside(piece.rendered, area, f"{name} was rendered outside of the frame")
    _check_inside(piece.core, piece.rendered, f"{name} counts for pixels that it did not render")


def _check_inside(inner: Sequence[int], outer: Sequence[int], fault: str) -> None:
    if len(inner) != 4:
        raise Refusal("bad-result", f"{fault}: {list(inner)} is not a box.")
    (x, y, width, height), (left, top, across, down) = inner, outer
    if (
        width < 1
        or height < 1
        or not (left <= x and x + width <= left + across)
        or not (top <= y and y + height <= top + down)
    ):
        raise Refusal("bad-result", f"{fault} ({width}×{height} at {x}, {y}).")
