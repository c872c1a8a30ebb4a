"""A plan: which frames, and how each is cut. A value; made by `farm.planning`."""

from __future__ import annotations

from functools import cached_property

from pydantic import Field

from farm.domain.frames import FrameRange
from farm.domain.scene import Value
from farm.domain.tiles import Size, Tile, TileGrid


class Plan(Value):
    """How a job is done. The work space is lazy: tasks are named by frame and tile, never listed."""

    frames: str
    width: int
    height: int
    grid: str | None = None  # None: frames stay whole
    overlap: int = 0
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
    def tiles_per_frame(self) -> int:
        """Pieces of a frame; 0 where the frame stays whole."""
        return len(TileGrid.parse(self.grid)) if self.grid else 0

    def tile(self, index: int) -> Tile:
        """Tile ``index`` of a frame; raises ValueError where frames stay whole."""
        if self.grid is None:
            raise ValueError("this plan cuts no frames")
        return TileGrid.parse(self.grid).tile(index, self.size, self.overlap)
