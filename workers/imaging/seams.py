"""Pieces that look wrong: black and transparent throughout, beside pixels that are not.

A piece that shows nothing may be right: there may be nothing to see. But where it is wrong (a device
that gave nothing back), the picture breaks off at its edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workers.imaging.exr import Array, Part
from workers.imaging.passes import is_combined
from workers.protocol import PieceFile


class Seams:
    """What is known so far of each piece's Combined passes, of all layers and views."""

    def __init__(self, pieces: Sequence[PieceFile]) -> None:
        self._pieces = pieces
        self._seen = False
        self._light = [False] * len(pieces)  # something in the piece
        self._around = [False] * len(pieces)  # something beside it

    def piece(self, number: int, part: Part, pixels: Mapping[str, Array]) -> None:
        """Look at what a piece contributes to ``part``."""
        combined = _combined(part)
        self._seen = self._seen or bool(combined)
        self._light[number] = self._light[number] or any(pixels[channel].any() for channel in combined)

    def frame(self, part: Part, pixels: Mapping[str, Array], left: int, top: int) -> None:
        """Look at ``part`` of the merged frame, whose first pixel is at ``left``, ``top``."""
        for number, piece in enumerate(self._pieces):
            if self._light[number] or self._around[number]:
                continue
            x, y, width, height = piece.core
            x, y = x - left, y - top
            self._around[number] = any(
                _ring(pixels[channel], x, y, width, height) for channel in _combined(part)
            )

    def ranges(self) -> None:
        """The pieces are ranges of samples: each is beside all others."""
        self._around = [any(self._light)] * len(self._pieces)

    @property
    def black(self) -> list[int]:
        """Numbers of the pieces that show nothing, where there is a Combined pass to look at."""
        return [number for number, light in enumerate(self._light) if self._seen and not light]

    @property
    def suspects(self) -> list[int]:
        """Numbers of the pieces that show nothing though something breaks off at their seams."""
        return [n for n in self.black if self._around[n] and not self._pieces[n].sure]


def _combined(part: Part) -> list[str]:
    return [channel for name, of in part.passes.items() if is_combined(name) for channel in of]


def _ring(array: Array, x: int, y: int, width: int, height: int) -> bool:
    """Whether a pixel around the box is not 0; the frame's edge is around nothing."""
    rows = slice(max(0, y - 1), y + height + 1)
    columns = slice(max(0, x - 1), x + width + 1)
    return bool(
        (y > 0 and array[y - 1, columns].any())
        or (x > 0 and array[rows, x - 1].any())
        or array[y + height : y + height + 1, columns].any()
        or array[rows, x + width : x + width + 1].any()
    )
