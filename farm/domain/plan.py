"""A plan: which frames, and how each is cut. A value; made by `farm.planning`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from pydantic import Field, model_validator

from farm.domain.frames import FrameRange
from farm.domain.order import begun_as, begun_at
from farm.domain.scene import Value
from farm.domain.tiles import Box, InnerTiles, Size, Tile, TileGrid


class Video(StrEnum):
    """A movie made of a job's frames, once they are all done."""

    SCENE = "scene"  # what the scene's own output asks for
    PREVIEW = "preview"  # H.264 of the previews, asked for with --video


class SampleRange(Value):
    """Samples [``first``, ``first + count``) of a total of ``total``.

    The blue-noise pattern depends on the total, so ranges of different totals are not parts of one
    picture. ``seed`` is added to the scene's own: where it is not 0, this range is an independent
    picture of its own total, and the average with it is not the picture that the larger total gives.
    """

    first: int = Field(ge=0)
    count: int = Field(ge=1)
    total: int = Field(ge=1)
    seed: int = Field(default=0, ge=0)


@dataclass(frozen=True, slots=True)
class Cut:
    """One piece of a frame: which pixels, and which of its samples (None: all of them)."""

    tile: Tile
    samples: SampleRange | None = None


class Recut(Value):
    """A revision of one frame's plan: some of it is cut again, finer, while what there was stays a way.

    ``of`` is the piece that is cut, None the whole frame. Its parts are numbered on from the pieces that
    there were before. A grid of 1x1 makes the same piece once more: a race.
    """

    of: int | None = Field(default=None, ge=0)
    grid: str
    overlap: int = Field(default=0, ge=0)
    inner: tuple[int, int] | None = None


class Plan(Value):
    """How a job is done. The work space is lazy: tasks are named by frame and piece, never listed.

    A frame stays whole, or is cut by area (``grid``), or by samples (``ranges``), never both. Pieces are
    numbered from 0; the number is the `tile` of a `TaskKey`, whichever way the frame is cut.
    """

    frames: str
    width: int
    height: int
    #: The render region where the scene has one, as x, y, width, height in the frame, y down: nothing
    #: outside of it is rendered.
    region: tuple[int, int, int, int] | None = None
    grid: str | None = None  # None: not cut by area
    overlap: int = 0
    #: Side and margin of Cycles' own tiles, where pieces have to keep to them: no piece lies across two.
    inner: tuple[int, int] | None = None
    ranges: tuple[SampleRange, ...] = ()  # empty: not cut by samples
    taken: int = 0  # so many of the ranges, from the first on, are there already, from an earlier job
    in_order: bool = False  # frames depend on those before: one worker renders them in their order
    videos: tuple[Video, ...] = ()
    exact: bool = True
    reason: str  # for people: "24 frames on 2 workers: whole frames"
    #: Of one frame, where its plan was revised: in the order in which it was. A job's own plan has none.
    recuts: tuple[Recut, ...] = ()
    order: str = "turn"  # of the frames, see `farm.domain.control.Control.order`

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, values: Any) -> Any:
        """Plans were stored with a number of their revision, which was always 0."""
        if isinstance(values, dict) and "revision" in values:
            return {name: value for name, value in values.items() if name != "revision"}
        return values

    @cached_property
    def frame_range(self) -> FrameRange:
        return FrameRange.parse(self.frames)

    @property
    def size(self) -> Size:
        return Size(self.width, self.height)

    @property
    def area(self) -> Box:
        """The pixels of a frame that are rendered."""
        return Box(*self.region) if self.region else self.size.box

    @cached_property
    def pieces_per_frame(self) -> int:
        """Pieces of a frame before any revision; 0 where the frame stays whole."""
        if self.ranges:
            return len(self.ranges)
        return len(TileGrid.parse(self.grid)) if self.grid else 0

    @cached_property
    def parts(self) -> tuple[range, ...]:
        """The numbers of the pieces that each of `recuts` brought."""
        numbers: list[range] = []
        start = self.pieces_per_frame
        for recut in self.recuts:
            numbers.append(range(start, start + len(TileGrid.parse(recut.grid))))
            start = numbers[-1].stop
        return tuple(numbers)

    @property
    def pieces(self) -> int:
        """All pieces of a frame that have numbers, with those of its revisions."""
        return self.parts[-1].stop if self.parts else self.pieces_per_frame

    def piece(self, index: int) -> Cut:
        """Piece ``index`` of a frame; raises ValueError where frames stay whole, IndexError beyond."""
        if self.ranges:
            return Cut(Tile(index, self.area, self.area), self.ranges[index])
        for numbers, recut in zip(self.parts, self.recuts, strict=True):
            if index in numbers:
                return Cut(self._part(recut, index, index - numbers.start))
        if self.grid is None:
            if self.recuts:
                raise IndexError(index)
            raise ValueError("this plan cuts no frames")
        inner = InnerTiles(*self.inner) if self.inner else None
        return Cut(TileGrid.parse(self.grid).tile(index, self.area, self.overlap, inner))

    def _part(self, recut: Recut, index: int, cell: int) -> Tile:
        grid = TileGrid.parse(recut.grid)
        inner = InnerTiles(*recut.inner) if recut.inner else None
        if recut.of is None:
            tile = grid.tile(cell, self.area, recut.overlap, inner)
            return Tile(index, tile.core, tile.rendered)
        core = grid.tile(cell, self.piece(recut.of).tile.core).core
        aligned = inner if inner is not None and inner.cut(self.area) else None
        seen = aligned.around(core, self.area) if aligned else self.area
        return Tile(index, core, core.grown(recut.overlap, seen))

    def recut(self, recuts: tuple[Recut, ...]) -> Plan:
        """The plan of one frame that was revised like this."""
        return self.model_copy(update={"recuts": recuts}) if recuts else self

    def cover(self, there: Collection[int]) -> tuple[int, ...] | None:
        """Which of the pieces that are there make the frame, each pixel once; None while they do not.

        Where there are several ways, the coarser one counts.
        """
        if self.pieces_per_frame:
            found = [self._covered(piece, there) for piece in range(self.pieces_per_frame)]
            if all(part is not None for part in found):
                return tuple(piece for part in found for piece in part or ())
            return None
        return self._finer(None, there)

    def _covered(self, piece: int, there: Collection[int]) -> tuple[int, ...] | None:
        return (piece,) if piece in there else self._finer(piece, there)

    def _finer(self, of: int | None, there: Collection[int]) -> tuple[int, ...] | None:
        """The parts of a piece that make it; the whole frame's, for None."""
        for numbers, recut in zip(self.parts, self.recuts, strict=True):
            if recut.of == of:
                found = [self._covered(piece, there) for piece in numbers]
                if all(part is not None for part in found):
                    return tuple(piece for part in found for piece in part or ())
        return None

    def settled(self, piece: int, there: Collection[int]) -> bool:
        """Whether the pixels of a piece are there: itself, its parts, or what it is a part of."""
        if self._covered(piece, there) is not None:
            return True
        for numbers, recut in zip(self.parts, self.recuts, strict=True):
            if piece in numbers:
                return recut.of is not None and self.settled(recut.of, there)
        return False

    def wanted(self, coming: Collection[int]) -> frozenset[int]:
        """Of the pieces that are there or will be, those that any way to the frame is made of.

        Where a part of a revision will never be, the others of it are of no use.
        """
        pieces = range(self.pieces_per_frame)
        found = set(coming) & set(pieces)
        ways: list[int | None] = [*pieces] or [None]
        while ways:
            of = ways.pop()
            for numbers, recut in zip(self.parts, self.recuts, strict=True):
                if recut.of == of and all(self._covered(piece, coming) is not None for piece in numbers):
                    found |= set(numbers) & set(coming)
                    ways += numbers
        return frozenset(found)

    def drawn(self, there: Collection[int]) -> tuple[int, ...]:
        """Pieces that lie beside each other, for people: what is there, else what it was last cut in.

        Nothing where the frame stays whole, or came out whole after all.
        """
        cover = self.cover(there)
        if cover is not None:
            return cover
        if self.pieces_per_frame:
            return tuple(part for piece in range(self.pieces_per_frame) for part in self._last(piece, there))
        return self._last(None, there)

    def _last(self, of: int | None, there: Collection[int]) -> tuple[int, ...]:
        found = [numbers for numbers, recut in zip(self.parts, self.recuts, strict=True) if recut.of == of]
        if of is not None and (of in there or not found):
            return (of,)
        return tuple(part for piece in (found[-1] if found else ()) for part in self._last(piece, there))

    def frame_at(self, index: int) -> int:
        """The frame that is begun as number ``index``, from 0; raises IndexError beyond the last."""
        return self.frame_range[begun_at(self.order, index, self.count)]

    def number_of(self, frame: int) -> int:
        """As which number, from 0, a frame is begun; raises ValueError where it is not one of the plan."""
        return begun_as(self.order, self.frame_range.place(frame), self.count)

    @cached_property
    def count(self) -> int:
        """How many frames there are."""
        return len(self.frame_range)
