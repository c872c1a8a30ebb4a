"""Jobs: requests to render frames of a scene."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from farm.domain.job import JobSpec
from farm.domain.views import AttemptView, JobView
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=documented(422, 503))


@router.post("", status_code=201, summary="Submit a job", responses=documented(400, 404))
def submit_job(spec: JobSpec, farm: Farm, who: Who) -> JobView:
    """The scene must be registered. Settings that are left out stay as the scene has them."""
    return farm.submit(who, spec)


@router.get("", summary="Jobs, newest first")
def list_jobs(
    farm: Farm,
    who: Who,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[str | None, Query(description="Only jobs older than this one.", max_length=40)] = None,
) -> list[JobView]:
    """A page of jobs; the last one's id as ``before`` gives the next page."""
    return farm.jobs(who, limit, before)


@router.get("/{job_id}", summary="One job", responses=documented(404))
def get_job(job_id: str, farm: Farm, who: Who) -> JobView:
    return farm.job(who, job_id)


@router.post("/{job_id}/cancel", summary="Cancel a job", responses=documented(404, 409))
def cancel_job(job_id: str, farm: Farm, who: Who) -> JobView:
    """Finished frames are kept; what renders now is stopped."""
    return farm.cancel(who, job_id)


@router.get("/{job_id}/attempts", summary="Tries of a job's tasks", responses=documented(404))
def list_attempts(
    job_id: str,
    farm: Farm,
    who: Who,
    failed: Annotated[bool, Query(description="Only those that failed or were lost.")] = False,
) -> list[AttemptView]:
    return farm.attempts(who, job_id, failed)
