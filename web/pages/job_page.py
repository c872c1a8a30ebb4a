"""``/jobs/{id}`` and ``/jobs/{id}/frames/{n}``: one job, its picture first."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from farm.domain.job import Principal
from farm.domain.scene import Finding
from farm.domain.states import TaskState
from farm.domain.tiles import Box, Size
from farm.domain.views import AttemptView, FrameView, JobView
from farm.domain.work import Role
from web.html import html
from web.needs import Farm, Who
from web.pages.bars import of_tiles
from web.pages.base import shared
from web.pages.proofs import proved
from web.services import Services

router = APIRouter()

#: Frames looked at to find the one to show, and failed attempts that are told in full.
WINDOW, TOLD = 200, 50


@router.get("/jobs/{job_id}")
def job_page(job_id: str, farm: Farm, who: Who) -> HTMLResponse:
    """The job at its newest picture; the page follows on from there."""
    context = shared(farm, who, "jobs")
    job = farm.job(who, job_id)
    number = newest(farm, who, job)
    frame = None if number is None else farm.frame(who, job_id, number)
    return _page(farm, who, context, job, frame, follows=True)


@router.get("/jobs/{job_id}/frames/{frame}")
def frame_page(job_id: str, frame: int, farm: Farm, who: Who) -> HTMLResponse:
    """The job at one frame."""
    context = shared(farm, who, "jobs")
    job = farm.job(who, job_id)
    if job.plan is None:  # the frame is not known yet; the page shows it when it is
        return _page(farm, who, context, job, None, follows=False)
    return _page(farm, who, context, job, farm.frame(who, job_id, frame), follows=False)


def newest(farm: Services, who: Principal, job: JobView) -> int | None:
    """The frame worth looking at: one that grows by tiles, else the last that has a picture.

    Frames are rendered in order, so it is near the ones that are settled; only those are looked at.
    None while there is no plan.
    """
    if job.plan is None or not job.frames.total:
        return None
    settled = job.frames.done + job.frames.failed + job.frames.cancelled
    frames = farm.frames(who, job.id, max(0, settled - WINDOW // 2), WINDOW)
    running = [frame for frame in frames if frame.state is TaskState.RUNNING]
    pictured = [frame for frame in frames if frame.preview is not None]
    failed = [frame for frame in frames if frame.state is TaskState.FAILED]
    if running and (job.plan.pieces_per_frame or not pictured):
        return running[0].frame
    best = pictured[-1:] or failed[:1] or frames[:1]
    return best[0].frame if best else job.plan.frame_range[0]


def alone(job: JobView, frame: FrameView) -> bool:
    """The job is this one picture, and it still grows: its tiles are the progress."""
    return job.frames.total == 1 and frame.state is TaskState.RUNNING


def _page(
    farm: Services,
    who: Principal,
    context: dict[str, Any],
    job: JobView,
    frame: FrameView | None,
    *,
    follows: bool,
) -> HTMLResponse:
    failed = farm.attempts(who, job.id, failed=True)
    workers = {worker.info.worker_id: worker.info for worker in context["pulse"].workers}
    tiled = of_tiles(frame.tiles) if frame is not None and frame.tiles and alone(job, frame) else None
    around = (None, None) if frame is None else neighbours(job, frame.frame)
    ranged = job.plan is not None and bool(job.plan.ranges)
    return html(
        "job.html",
        **context,
        job=job,
        frame=frame,
        picture=picture(job),
        full=frame_size(job),
        ranged=ranged,
        tiles=[] if frame is None else frame.tiles,
        counts=job.frames if tiled is None else tiled,
        unit="frame" if tiled is None else "sample range" if ranged else "tile",
        downloads=[] if frame is None else downloads(frame),
        previous=around[0],
        following=around[1],
        follows=follows,
        failed=newest_first(failed)[:TOLD],
        failed_total=len(failed),
        findings=[found for found in findings(job) if found.what != job.error],
        **proved(farm, who, job, frame),
        workers=workers,
    )


def frame_size(job: JobView) -> Size:
    """Pixels of the job's frames; a common shape while they are not known."""
    if job.plan is not None:
        return job.plan.size
    return job.report.size(job.settings.scale) if job.report is not None else Size(1920, 1080)


def picture(job: JobView) -> Box:
    """The part of a frame that its pictures show: its render region, where that alone makes them."""
    if job.plan is not None and job.report is not None and job.report.crops:
        return job.plan.area
    return frame_size(job).box


def downloads(frame: FrameView) -> list[Any]:
    """The files of a frame that people want, the artist's own first."""
    wanted = [output for output in frame.outputs if output.role in (Role.OUTPUT, Role.EXR)]
    return sorted(wanted, key=lambda output: (output.role is not Role.OUTPUT, output.name))


def neighbours(job: JobView, frame: int) -> tuple[int | None, int | None]:
    """The job's frames before and after ``frame``."""
    if job.plan is None:
        return None, None
    frames = job.plan.frame_range
    at = 0
    for part in frames.parts:
        if frame in part:
            at += part.index(frame)
            break
        at += len(part)
    return (frames[at - 1] if at > 0 else None, frames[at + 1] if at + 1 < len(frames) else None)


def newest_first(attempts: list[AttemptView]) -> list[AttemptView]:
    return sorted(attempts, key=lambda attempt: attempt.ended or attempt.started, reverse=True)


def findings(job: JobView) -> list[Finding]:
    """All that bears on this job, the heaviest first."""
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(job.findings, key=lambda found: order[found.weight])
