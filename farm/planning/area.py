"""Cutting by area: which grid, and how much its tiles overlap."""

from __future__ import annotations

import math

from farm.domain.job import RenderSettings
from farm.domain.scene import SceneReport
from farm.domain.tiles import MOST_TILES, Box, InnerTiles, Size, TileGrid
from farm.planning.cutting import Cutting, may_differ

#: Cycles runs its adaptive filter every 16 samples, and the filter spreads by one pixel a round
#: (Cycles source, `ADAPTIVE_SAMPLE_STEP` and the box filter of adaptive sampling).
_SAMPLES_PER_ROUND = 16
#: A pixel of overlap for each round proves that no seam can show. It is taken where it makes a frame's
#: tiles cost at most so much more, as a share of its pixels …
_AFFORDABLE = 0.5
#: … else this margin is: measured, 32 pixels left no wrong pixel at 512 samples.
_MARGIN = 32
#: A tile smaller than this is not worth the trip to another worker.
_SMALLEST_TILE_PIXELS = 64 * 64
#: So many times the pieces that the workers ask for are cut at most, where Cycles' own tiles ask for more:
#: a trip for each of many small ones would cost more than the other workers save.
_MOST_TIMES = 32


def cut_by_area(
    settings: RenderSettings, report: SceneReport, area: Box, frames: int, workers: int
) -> Cutting:
    """Tiles of ``area``, or whole frames; raises `BadInput` for a grid that is too fine."""
    asked = settings.grid
    if asked is not None and len(asked) > 1:
        asked.check(area.size)
        why = f"each cut in {len(asked)} tiles ({asked}), as asked"
        return _tiled(asked, why, settings, report, area)
    if asked is not None or settings.tiles == "none":
        return Cutting("whole frames, as asked")
    if frames >= workers:
        return Cutting("whole frames")
    if report.breaks_exactness:
        return Cutting(f"whole frames, so that they stay exact: {report.breaks_exactness[0].what}")
    pieces = min(math.ceil(workers / frames), area.width * area.height // _SMALLEST_TILE_PIXELS, MOST_TILES)
    if pieces < 2:
        return Cutting("whole frames")
    grid = near_square(pieces, area.size)
    inner = _inner(report, area)
    if inner is not None:
        least = inner.finest(area)
        grid = TileGrid(max(grid.columns, least.columns), max(grid.rows, least.rows))
        if len(grid) > min(_MOST_TIMES * pieces, MOST_TILES):
            why = f"Cycles renders each in small tiles, so it would be {len(grid):,} pieces"
            return Cutting(f"whole frames: {why}")
    why = f"each cut in {len(grid)} tiles ({grid}), so that every worker has a piece"
    return _tiled(grid, why, settings, report, area)


def near_square(pieces: int, size: Size) -> TileGrid:
    """The grid of at least ``pieces`` cells, as few as possible, whose cells are nearest to square."""

    def unevenness(columns: int) -> tuple[int, float]:
        rows = math.ceil(pieces / columns)
        return columns * rows, abs(math.log((size.width / columns) / (size.height / rows)))

    columns = min(range(1, pieces + 1), key=unevenness)
    return TileGrid(columns, math.ceil(pieces / columns))


def _tiled(grid: TileGrid, why: str, settings: RenderSettings, report: SceneReport, area: Box) -> Cutting:
    rounds = math.ceil((settings.samples or report.samples) / _SAMPLES_PER_ROUND) if report.adaptive else 0
    inner = _inner(report, area)
    coarse = inner is not None and not inner.fits(grid, area)
    if coarse:
        inner = None
    margin = rounds
    if rounds > _MARGIN and extra(grid, area, report.overlap + rounds, inner) > _AFFORDABLE:
        margin = _MARGIN
    overlap = report.overlap + margin  # each sees so far, and by what the other saw
    proven = margin >= rounds
    if rounds and proven:
        why += f"; {overlap} pixels of overlap prove adaptive sampling exact"
    elif rounds:
        why += f"; {overlap} pixels of overlap are a margin: {rounds} would prove adaptive sampling exact"
    if coarse:
        why += "; may differ from whole frames: Cycles renders them in smaller tiles of its own"
    return Cutting(
        why + may_differ(report.breaks_exactness),
        grid=grid,
        overlap=overlap,
        inner=None if inner is None else (inner.side, inner.margin),
        exact=proven and not coarse and not report.breaks_exactness,
    )


def _inner(report: SceneReport, area: Box) -> InnerTiles | None:
    """The tiles of Cycles' own that show in a picture of ``area``."""
    inner = InnerTiles(report.inner_side, report.inner_margin)
    return inner if inner.cut(area) else None


def extra(grid: TileGrid, area: Box, overlap: int, inner: InnerTiles | None = None) -> float:
    """Pixels that are rendered because tiles overlap, as a share of those of ``area``."""
    rendered = sum(tile.rendered.width * tile.rendered.height for tile in grid.tiles(area, overlap, inner))
    return rendered / (area.width * area.height) - 1
