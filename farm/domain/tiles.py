"""Tiles: rectangles of a frame, in whole pixels.

Boxes are in picture coordinates: x runs right, **y runs down** from the top row, as in EXR and PNG.
Blender's render border runs up from the bottom and is a pair of float32 fractions; `Box.border` is
the one place that turns one into the other.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from farm.domain.errors import BadInput, UsageError

#: Each tile is a task, a file and a row; far more workers than this are not set to one picture.
MOST_TILES = 4096


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height in pixels."""

    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width}×{self.height}"

    @property
    def box(self) -> Box:
        """All pixels of a frame of this size."""
        return Box(0, 0, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Border:
    """Blender's ``render.border_*``: fractions of the frame, y up from the bottom."""

    min_x: float
    max_x: float
    min_y: float
    max_y: float


@dataclass(frozen=True, slots=True)
class Box:
    """``width`` × ``height`` pixels whose top left pixel is (``x``, ``y``)."""

    x: int
    y: int
    width: int
    height: int

    @property
    def size(self) -> Size:
        return Size(self.width, self.height)

    def grown(self, overlap: int, within: Box) -> Box:
        """This box with ``overlap`` more pixels on each side, cut at the edges of ``within``."""
        x, y = max(within.x, self.x - overlap), max(within.y, self.y - overlap)
        right = min(within.x + within.width, self.x + self.width + overlap)
        bottom = min(within.y + within.height, self.y + self.height + overlap)
        return Box(x, y, right - x, bottom - y)

    @classmethod
    def of_border(cls, border: Border, frame: Size) -> Box:
        """The pixels of ``frame`` that Blender renders for ``border``; none where the box is empty.

        Blender multiplies float32 values and truncates (`RE_InitState`, `disprect`).
        """

        def pixel(edge: float, of: int) -> int:
            return min(max(int(_float32(_float32(edge) * of)), 0), of)

        left, right = pixel(border.min_x, frame.width), pixel(border.max_x, frame.width)
        bottom, top = pixel(border.min_y, frame.height), pixel(border.max_y, frame.height)
        return cls(left, frame.height - top, max(0, right - left), max(0, top - bottom))

    def border(self, frame: Size) -> Border:
        """The render border that makes Blender render exactly these pixels of ``frame``.

        Both Blender and Cycles truncate ``border * width`` in float32, so ``k/width`` lands a pixel
        off for many k (26 of 1920). Half a pixel inside is safe; the frame's edges are exact.
        """

        def edge(pixel: int, of: int) -> float:
            return 0.0 if pixel == 0 else 1.0 if pixel == of else (pixel + 0.5) / of

        bottom = frame.height - (self.y + self.height)
        return Border(
            min_x=edge(self.x, frame.width),
            max_x=edge(self.x + self.width, frame.width),
            min_y=edge(bottom, frame.height),
            max_y=edge(bottom + self.height, frame.height),
        )


def _float32(value: float) -> float:
    """The nearest float32: a product of a float32 and a whole number below 2^24 is rounded only once."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


@dataclass(frozen=True, slots=True)
class Tile:
    """One cell of a grid: ``core`` is what counts, ``rendered`` is core plus overlap."""

    index: int
    core: Box
    rendered: Box


@dataclass(frozen=True, slots=True)
class TileGrid:
    """``columns`` × ``rows`` cells that cover an area of a frame, every pixel exactly once.

    Cells differ by at most one pixel in each direction. Index 0 is top left, then row by row.
    """

    columns: int
    rows: int

    @classmethod
    def parse(cls, text: str) -> TileGrid:
        """Read ``2x3`` (columns × rows); raise `UsageError` otherwise."""
        found = re.fullmatch(r"([0-9]{1,6})[x×]([0-9]{1,6})", text.strip())
        if not found or int(found[1]) < 1 or int(found[2]) < 1:
            raise UsageError(
                f"“{text}” is not a tile grid.", "Write columns x rows, such as 2x2, or none, or auto."
            )
        return cls(int(found[1]), int(found[2]))

    def __len__(self) -> int:
        return self.columns * self.rows

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}"

    def check(self, frame: Size) -> None:
        """Raise `BadInput` where a cell would have no pixel, or where there are too many."""
        if self.columns > frame.width or self.rows > frame.height:
            raise BadInput(
                f"A tile grid of {self} is finer than the picture ({frame}).",
                "Choose fewer tiles, or --tiles auto.",
            )
        if len(self) > MOST_TILES:
            raise BadInput(
                f"A tile grid of {self} is {len(self):,} tiles; a frame is cut into {MOST_TILES:,} at most.",
                "Choose fewer tiles, or --tiles auto.",
            )

    def tile(self, index: int, area: Box, overlap: int = 0) -> Tile:
        """Cell ``index`` of ``area``, no pixel outside of it; raises IndexError outside of the grid."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        row, column = divmod(index, self.columns)
        left, right = (area.x + area.width * i // self.columns for i in (column, column + 1))
        top, bottom = (area.y + area.height * i // self.rows for i in (row, row + 1))
        core = Box(left, top, right - left, bottom - top)
        return Tile(index, core, core.grown(overlap, area))

    def tiles(self, area: Box, overlap: int = 0) -> Iterator[Tile]:
        """All cells in index order."""
        return (self.tile(index, area, overlap) for index in range(len(self)))
