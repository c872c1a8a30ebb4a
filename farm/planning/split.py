"""From what was asked and what the inspection found to a plan."""

from __future__ import annotations

from collections.abc import Sequence

from farm.domain.costs import Costs
from farm.domain.errors import BadInput
from farm.domain.frames import FrameRange
from farm.domain.job import RenderSettings
from farm.domain.plan import Plan, SampleRange, Video
from farm.domain.scene import SceneReport
from farm.domain.tiles import Border, Box, Size
from farm.planning.area import cut_by_area
from farm.planning.cutting import Cutting, counted
from farm.planning.model import Hand
from farm.planning.ranges import cut_by_samples


def plan_job(
    settings: RenderSettings,
    report: SceneReport,
    workers: int,
    there: Sequence[SampleRange] | None = None,
    costs: Costs | None = None,
    hands: Sequence[Hand] = (),
) -> Plan:
    """Plan a job for ``workers`` workers; raises `BadInput` where it cannot work as asked.

    ``there`` are the sample ranges of an earlier job, for one that adds to them; None for all others.
    ``costs`` are what its frames will cost, where an earlier job of the scene told; ``hands`` are the
    workers that it may count on, where others want some too, or where more is known of them.
    """
    hands = hands or [Hand()] * workers
    frames = FrameRange.parse(settings.frames) if settings.frames else report.frames
    size = report.size(settings.scale)
    if size.width < 1 or size.height < 1:
        raise BadInput(
            f"At {settings.scale or report.percentage} % the picture would be {size} pixels.",
            "Choose a larger --scale.",
        )
    area = area_of(report, size)
    cutting = _cutting(settings, report, area, len(frames), hands, there, costs or Costs())
    return Plan(
        frames=str(frames),
        width=size.width,
        height=size.height,
        region=None if area == size.box else (area.x, area.y, area.width, area.height),
        grid=None if cutting.grid is None else str(cutting.grid),
        overlap=cutting.overlap,
        inner=cutting.inner,
        ranges=cutting.ranges,
        taken=cutting.taken,
        in_order=bool(report.in_order),
        videos=_videos(settings, report, len(frames)),
        exact=cutting.exact,
        reason=f"{counted(len(frames), 'frame')} on {_on(len(hands), workers)}: {cutting.why}",
    )


def _on(hands: int, workers: int) -> str:
    return counted(workers, "worker") if hands >= workers else f"{hands:,} of {counted(workers, 'worker')}"


def area_of(report: SceneReport, size: Size) -> Box:
    """The pixels that are rendered: the scene's region, where it has one; `BadInput` where it has none."""
    if report.border is None:
        return size.box
    area = Box.of_border(Border(*report.border), size)
    if area.width < 1 or area.height < 1:
        raise BadInput(
            f"The scene's render region has no pixel of a picture of {size}.",
            "Draw the region anew, or choose a larger --scale.",
        )
    return area


def _cutting(
    settings: RenderSettings,
    report: SceneReport,
    area: Box,
    frames: int,
    hands: Sequence[Hand],
    there: Sequence[SampleRange] | None,
    costs: Costs,
) -> Cutting:
    in_part = settings.first is not None or there is not None
    if why := _why_whole(report):
        if in_part:
            raise BadInput(
                f"Frames of this scene cannot be rendered in part: {why}",
                "Render all of their samples at once.",
            )
        return Cutting(_whole(settings, report, why))
    if in_part or settings.by_samples:
        return cut_by_samples(settings, report, len(hands), there)
    return cut_by_area(settings, report, area, frames, hands, costs)


def _why_whole(report: SceneReport) -> str:
    """Why no frame of this scene may be cut, in whatever way; nothing where it may."""
    found = report.in_order or report.blocks_cutting
    return found[0].what if found else ""


def _whole(settings: RenderSettings, report: SceneReport, why: str) -> str:
    """That frames stay whole, and why, and what of that was asked for otherwise."""
    how = "whole frames, in order on one worker" if report.in_order else "whole frames"
    grid = settings.grid
    if settings.by_samples:
        return f"{how}, though sample ranges were asked for: {why}"
    if grid is not None and len(grid) > 1:
        return f"{how}, though {grid} tiles were asked for: {why}"
    if settings.tiles != "auto" and not report.in_order:
        return "whole frames, as asked"
    return f"{how}: {why}"


def _videos(settings: RenderSettings, report: SceneReport, frames: int) -> tuple[Video, ...]:
    scene = (Video.SCENE,) if report.movie and frames > 1 else ()
    return (*scene, Video.PREVIEW) if settings.video else scene
