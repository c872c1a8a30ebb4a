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
from functools import lru_cache
from typing import ClassVar

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
class InnerTiles:
    """The tiles in which Cycles itself renders a large picture: ``side`` pixels, from the bottom left on.

    Each sees ``margin`` pixels beyond its edge and nothing else of the picture. A piece that is to be equal
    to its part of the picture lies in one of them, and sees no more than that one does.
    """

    side: int
    margin: int

    #: Cycles' own limit, whatever the scene asks for.
    MOST: ClassVar[int] = 8192

    def cut(self, area: Box) -> bool:
        """Whether Cycles renders a picture of ``area`` in more than one of these tiles."""
        if self.side < 1:
            return False
        large = max(area.width, area.height) > self.MOST
        return large or area.width * area.height > self.side * self.side

    def finest(self, area: Box) -> TileGrid:
        """The coarsest grid whose cells can each lie in one of these tiles of ``area``."""
        return TileGrid(-(-area.width // self.side), -(-area.height // self.side))

    def fits(self, grid: TileGrid, area: Box) -> bool:
        """Whether the cells of ``grid`` can each lie in one of these tiles."""
        least = self.finest(area)
        return grid.columns >= least.columns and grid.rows >= least.rows

    def columns(self, area: Box, number: int) -> tuple[int, ...]:
        """Left edges of ``number`` columns in ``area``, and its right one; at least as many as `finest`."""
        return _edges(area.x, area.width, self.side, number)

    def rows(self, area: Box, number: int) -> tuple[int, ...]:
        """Upper edges of ``number`` rows, and the lower one of ``area``: inner tiles start at the bottom."""
        upwards = _edges(0, area.height, self.side, number)
        return tuple(area.y + area.height - edge for edge in reversed(upwards))

    def around(self, core: Box, area: Box) -> Box:
        """What the inner tile that ``core`` lies in sees of ``area``."""
        bottom = area.y + area.height
        x = area.x + (core.x - area.x) // self.side * self.side
        low = bottom - (bottom - core.y - core.height) // self.side * self.side
        left, right = max(x, area.x), min(x + self.side, area.x + area.width)
        top = max(low - self.side, area.y)
        return Box(left, top, right - left, low - top).grown(self.margin, area)


@lru_cache(maxsize=64)  # each tile of a grid asks for all of them
def _edges(start: int, length: int, side: int, number: int) -> tuple[int, ...]:
    """Edges of ``number`` cells of ``length``, none across a multiple of ``side``, as even as can be."""
    strips = [min(side, length - at) for at in range(0, length, side)]
    if number < len(strips):
        raise ValueError(f"{number} cells cannot keep apart {len(strips)} tiles of Cycles")
    cells = [1] * len(strips)
    for _ in range(number - len(strips)):
        widest = max(range(len(strips)), key=lambda n: (strips[n] / cells[n], -n))
        cells[widest] += 1
    edges = []
    for n, strip in enumerate(strips):
        edges += [start + n * side + strip * part // cells[n] for part in range(cells[n])]
    return (*edges, start + length)


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

    def tile(self, index: int, area: Box, overlap: int = 0, inner: InnerTiles | None = None) -> Tile:
        """Cell ``index`` of ``area``, no pixel outside of it; raises IndexError outside of the grid.

        Where Cycles renders ``area`` in ``inner`` tiles, no cell lies across two of them or sees more than
        they do; raises ValueError for a grid that is too coarse for that.
        """
        if not 0 <= index < len(self):
            raise IndexError(index)
        row, column = divmod(index, self.columns)
        aligned = inner if inner is not None and inner.cut(area) else None
        if aligned:
            left, right = aligned.columns(area, self.columns)[column : column + 2]
            top, bottom = aligned.rows(area, self.rows)[row : row + 2]
        else:
            left, right = (area.x + area.width * i // self.columns for i in (column, column + 1))
            top, bottom = (area.y + area.height * i // self.rows for i in (row, row + 1))
        core = Box(left, top, right - left, bottom - top)
        return Tile(index, core, core.grown(overlap, aligned.around(core, area) if aligned else area))

    def tiles(self, area: Box, overlap: int = 0, inner: InnerTiles | None = None) -> Iterator[Tile]:
        """All cells in index order."""
        return (self.tile(index, area, overlap, inner) for index in range(len(self)))
