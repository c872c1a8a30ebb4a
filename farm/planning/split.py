"""From what was asked and what the inspection found to a plan."""

from __future__ import annotations

import math

from farm.domain.errors import BadInput
from farm.domain.frames import FrameRange
from farm.domain.job import RenderSettings
from farm.domain.plan import Plan
from farm.domain.scene import SceneReport
from farm.domain.tiles import Size, TileGrid

#: Cycles runs its adaptive filter every 16 samples, and the filter spreads by one pixel a round
#: (Cycles source, `ADAPTIVE_SAMPLE_STEP` and the box filter of adaptive sampling).
_SAMPLES_PER_ROUND = 16
#: More overlap than this costs more than it proves; measured: 32 pixels left no wrong pixel at 512 samples.
_LARGEST_OVERLAP = 32
#: A tile smaller than this is not worth the trip to another worker.
_SMALLEST_TILE_PIXELS = 64 * 64


def plan_job(settings: RenderSettings, report: SceneReport, workers: int) -> Plan:
    """Plan a job for ``workers`` workers; raises `BadInput` where it cannot work as asked."""
    frames = FrameRange.parse(settings.frames) if settings.frames else report.frames
    size = report.size(settings.scale)
    if size.width < 1 or size.height < 1:
        raise BadInput(
            f"At {settings.scale or report.percentage} % the picture would be {size} pixels.",
            "Choose a larger --scale.",
        )
    grid, why = _grid(settings, report, size, len(frames), workers)
    samples = settings.samples or report.samples
    overlap = overlap_of(samples) if grid and report.adaptive else 0
    proven = overlap * _SAMPLES_PER_ROUND >= samples or not report.adaptive
    return Plan(
        frames=str(frames),
        width=size.width,
        height=size.height,
        grid=None if grid is None else str(grid),
        overlap=overlap,
        exact=grid is None or (proven and not report.breaks_exactness),
        reason=f"{_count(len(frames), 'frame')} on {_count(workers, 'worker')}: {why}",
    )


def overlap_of(samples: int) -> int:
    """Pixels of overlap for adaptive sampling: one a filter round, up to an affordable margin."""
    return min(math.ceil(samples / _SAMPLES_PER_ROUND), _LARGEST_OVERLAP)


def _grid(
    settings: RenderSettings, report: SceneReport, size: Size, frames: int, workers: int
) -> tuple[TileGrid | None, str]:
    """The grid (None: whole frames) and the reason in words."""
    asked = settings.grid
    if asked is not None:
        asked.check(size)
    blocked = report.blocks_cutting[0].what if report.blocks_cutting else ""
    if asked is not None and len(asked) > 1:
        if blocked:
            return None, f"whole frames, though {asked} tiles were asked for: {blocked}"
        return asked, f"each cut in {len(asked)} tiles ({asked}), as asked"
    if asked is not None or settings.tiles == "none":
        return None, "whole frames, as asked"
    if blocked:
        return None, f"whole frames: {blocked}"
    if frames >= workers:
        return None, "whole frames"
    pieces = min(math.ceil(workers / frames), size.width * size.height // _SMALLEST_TILE_PIXELS)
    if report.breaks_exactness:
        return None, f"whole frames, so that they stay exact: {report.breaks_exactness[0].what}"
    if pieces < 2:
        return None, "whole frames"
    grid = near_square(pieces, size)
    return grid, f"each cut in {len(grid)} tiles ({grid}), so that every worker has a piece"


def near_square(pieces: int, size: Size) -> TileGrid:
    """The grid of at least ``pieces`` cells, as few as possible, whose cells are nearest to square."""

    def unevenness(columns: int) -> tuple[int, float]:
        rows = math.ceil(pieces / columns)
        return columns * rows, abs(math.log((size.width / columns) / (size.height / rows)))

    columns = min(range(1, pieces + 1), key=unevenness)
    return TileGrid(columns, math.ceil(pieces / columns))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
