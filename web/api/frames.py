"""Frames of a job."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from farm.domain.views import FrameView, Provenance
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(prefix="/jobs/{job_id}/frames", tags=["frames"], responses=documented(404, 422, 503))


@router.get("", summary="Frames of a job, in order")
def list_frames(
    job_id: str,
    farm: Farm,
    who: Who,
    first: Annotated[int, Query(ge=0, description="Index into the plan's frames, from 0.")] = 0,
    count: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> list[FrameView]:
    """Without their tiles; empty while the job has no plan."""
    return farm.frames(who, job_id, first, count)


@router.get("/{frame}", summary="One frame with its tiles")
def get_frame(job_id: str, frame: int, farm: Farm, who: Who) -> FrameView:
    return farm.frame(who, job_id, frame)


@router.get("/{frame}/provenance", summary="How a frame was made", responses=documented(409))
def get_provenance(job_id: str, frame: int, farm: Farm, who: Who) -> Provenance:
    """Each try with its cause, or with build, device, driver, seed and seconds; the files by their hash."""
    return farm.provenance(who, job_id, frame)
