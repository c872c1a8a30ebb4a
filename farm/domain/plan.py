"""A plan: which frames, and how each is cut. A value; made by `farm.planning`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from pydantic import Field

from farm.domain.frames import FrameRange
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
    revision: int = Field(default=0, ge=0)

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
        """Pieces of a frame; 0 where the frame stays whole."""
        if self.ranges:
            return len(self.ranges)
        return len(TileGrid.parse(self.grid)) if self.grid else 0

    def piece(self, index: int) -> Cut:
        """Piece ``index`` of a frame; raises ValueError where frames stay whole, IndexError beyond."""
        if self.ranges:
            return Cut(Tile(index, self.area, self.area), self.ranges[index])
        if self.grid is None:
            raise ValueError("this plan cuts no frames")
        inner = InnerTiles(*self.inner) if self.inner else None
        return Cut(TileGrid.parse(self.grid).tile(index, self.area, self.overlap, inner))
