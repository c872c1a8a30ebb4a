"""Cutting by area: which grid, and how much its tiles overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence

from farm.domain.costs import Costs
from farm.domain.job import RenderSettings
from farm.domain.plan import Plan, Recut
from farm.domain.scene import SceneReport
from farm.domain.tiles import MOST_TILES, Box, InnerTiles, Size, TileGrid
from farm.planning.cutting import Cutting, about, may_differ
from farm.planning.model import Choice, Hand, Way, best_way

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
#: Fewer samples than this, of all pixels together, are rendered in less time than it takes to put tiles
#: together: that is 1.2 s at least, and a thread was measured to render 230,000 a second of a plain scene.
_SMALLEST_FRAME_SAMPLES = 1 << 18
#: So many times the pieces that the workers ask for are cut at most, where Cycles' own tiles ask for more:
#: a trip for each of many small ones would cost more than the other workers save.
_MOST_TIMES = 32
#: Numbers of pieces that are compared, up to the number of workers, which is one too.
TRIED = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def cut_by_area(
    settings: RenderSettings,
    report: SceneReport,
    area: Box,
    frames: int,
    hands: Sequence[Hand],
    costs: Costs,
) -> Cutting:
    """Tiles of ``area``, or whole frames; raises `BadInput` for a grid that is too fine.

    Where nobody asks for a grid, the model decides by ``costs``. While they are not known, fewer frames
    than workers are cut so that every worker has a piece.
    """
    asked = settings.grid
    if asked is not None and len(asked) > 1:
        asked.check(area.size)
        why = f"each cut in {len(asked)} tiles ({asked}), as asked"
        return _tiled(asked, why, settings, report, area)
    if asked is not None or settings.tiles == "none":
        return Cutting("whole frames, as asked")
    if costs.seen:
        return _by_the_model(settings, report, area, frames, hands, costs)
    if frames >= len(hands):
        return Cutting("whole frames")
    if report.breaks_exactness:
        return Cutting(_stays_exact(report))
    samples = settings.samples or report.samples
    if area.width * area.height * samples < _SMALLEST_FRAME_SAMPLES:
        return Cutting("whole frames: they are too small to be worth a cut")
    grid = grid_of(math.ceil(len(hands) / frames), report, area)
    if isinstance(grid, str):
        return Cutting(grid)
    why = f"each cut in {len(grid)} tiles ({grid}), so that every worker has a piece"
    return _tiled(grid, why, settings, report, area)


def _by_the_model(
    settings: RenderSettings,
    report: SceneReport,
    area: Box,
    frames: int,
    hands: Sequence[Hand],
    costs: Costs,
) -> Cutting:
    last = frames % len(hands) if frames >= len(hands) else frames
    if not last or len(hands) < 2:
        return Cutting("whole frames")
    if report.breaks_exactness:
        return Cutting("whole frames" if frames >= len(hands) else _stays_exact(report))
    ways = ways_of(settings, report, area, len(hands), exact=frames >= len(hands))
    choice = best_way(costs, last, ways, hands)
    if frames >= len(hands):
        later = "" if choice.way.pieces == 1 else f"; the last {last} will be cut in {choice.way.pieces}"
        return Cutting("whole frames" + (later if last > 1 else later.replace("last 1", "last one")))
    if choice.way.pieces == 1:
        return Cutting(f"whole frames: no cut would end them sooner than in {about(choice.whole)}")
    grid = grid_of(choice.way.pieces, report, area)
    assert isinstance(grid, TileGrid)  # noqa: S101  it is one of `ways_of`
    return _tiled(grid, _sooner(grid, choice), settings, report, area)


def _sooner(grid: TileGrid, choice: Choice) -> str:
    return (
        f"each cut in {len(grid)} tiles ({grid}), which ends them in {about(choice.seconds)} "
        f"instead of {about(choice.whole)}"
    )


def _stays_exact(report: SceneReport) -> str:
    return f"whole frames, so that they stay exact: {report.breaks_exactness[0].what}"


def ways_of(
    settings: RenderSettings, report: SceneReport, area: Box, workers: int, *, exact: bool
) -> list[Way]:
    """The ways in which a frame may be cut for ``workers`` workers, coarse ones first.

    ``exact``: only those that are proved to come out as the whole frame does.
    """
    if report.breaks_exactness:
        return []
    found: dict[int, Way] = {}
    for pieces in sorted({*TRIED, workers}):
        grid = grid_of(pieces, report, area) if 2 <= pieces <= workers else ""
        if isinstance(grid, TileGrid) and len(grid) not in found:
            cutting = _tiled(grid, "", settings, report, area)
            if cutting.exact or not exact:
                inner = None if cutting.inner is None else InnerTiles(*cutting.inner)
                found[len(grid)] = Way(len(grid), extra(grid, area, cutting.overlap, inner))
    return list(found.values())


def recut_of(
    of: int | None, pieces: int, plan: Plan, settings: RenderSettings, report: SceneReport
) -> Recut | None:
    """A revision that cuts a frame, or its piece ``of``, in ``pieces``; None where none is proved exact."""
    if report.breaks_exactness or report.blocks_cutting or report.in_order:
        return None
    core = plan.area if of is None else plan.piece(of).tile.core
    if core.width * core.height // _SMALLEST_TILE_PIXELS < pieces and pieces > 1:
        return None
    if of is not None:  # a part of a piece that keeps to Cycles' own tiles does so too
        inner = _inner(report, plan.area)
        kept = None if inner is None else (inner.side, inner.margin)
        overlap = report.overlap + _rounds(settings, report)
        grid = str(near_square(pieces, core.size))
        return Recut(of=of, grid=grid, overlap=overlap, inner=kept) if plan.exact else None
    found = grid_of(pieces, report, plan.area)
    if isinstance(found, str):
        return None
    cutting = _tiled(found, "", settings, report, plan.area)
    return Recut(grid=str(found), overlap=cutting.overlap, inner=cutting.inner) if cutting.exact else None


def grid_of(pieces: int, report: SceneReport, area: Box) -> TileGrid | str:
    """The grid of about so many pieces, as far as that makes sense; else why frames stay whole."""
    pieces = min(pieces, area.width * area.height // _SMALLEST_TILE_PIXELS, MOST_TILES)
    if pieces < 2:
        return "whole frames"
    grid = near_square(pieces, area.size)
    inner = _inner(report, area)
    if inner is not None:
        least = inner.finest(area)
        grid = TileGrid(max(grid.columns, least.columns), max(grid.rows, least.rows))
        if len(grid) > min(_MOST_TIMES * pieces, MOST_TILES):
            return f"whole frames: Cycles renders each in small tiles, so it would be {len(grid):,} pieces"
    return grid


def near_square(pieces: int, size: Size) -> TileGrid:
    """The grid of at least ``pieces`` cells, as few as possible, whose cells are nearest to square."""

    def unevenness(columns: int) -> tuple[int, float]:
        rows = math.ceil(pieces / columns)
        return columns * rows, abs(math.log((size.width / columns) / (size.height / rows)))

    columns = min(range(1, pieces + 1), key=unevenness)
    return TileGrid(columns, math.ceil(pieces / columns))


def _rounds(settings: RenderSettings, report: SceneReport) -> int:
    return math.ceil((settings.samples or report.samples) / _SAMPLES_PER_ROUND) if report.adaptive else 0


def _tiled(grid: TileGrid, why: str, settings: RenderSettings, report: SceneReport, area: Box) -> Cutting:
    rounds = _rounds(settings, report)
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
