"""The boxes of a frame's pieces: together their cores are every pixel of the frame exactly once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workers.child import Refusal
from workers.protocol import PieceFile


def check_boxes(pieces: Sequence[PieceFile], width: int, height: int) -> None:
    """Raise `Refusal` unless the cores tile ``width`` × ``height`` pixels without gap or overlap.

    Boxes are [x, y, width, height], y down; each core lies in what was rendered, and that in the frame.
    """
    if width < 1 or height < 1:
        raise Refusal("bad-result", f"A frame cannot be {width}×{height} pixels.")
    covered = np.zeros((height, width), bool)
    for number, piece in enumerate(pieces, start=1):
        name = f"Piece {number} of {len(pieces)}"
        _check_inside(piece.rendered, [0, 0, width, height], f"{name} was rendered outside of the frame")
        _check_inside(piece.core, piece.rendered, f"{name} counts for pixels that it did not render")
        x, y, across, down = piece.core
        cell = covered[y : y + down, x : x + across]
        if cell.any():
            raise Refusal("bad-result", f"{name} overlaps another piece in {np.count_nonzero(cell)} pixels.")
        cell[:] = True
    missing = covered.size - int(np.count_nonzero(covered))
    if missing:
        y, x = divmod(int(np.argmin(covered)), width)
        raise Refusal(
            "bad-result",
            f"The {len(pieces)} pieces leave {missing} of {covered.size} pixels of the frame uncovered, "
            f"the first at {x}, {y}.",
            "Render the missing piece.",
        )


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
