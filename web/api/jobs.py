"""Jobs: requests to render frames of a scene."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from farm.domain.control import ControlChange
from farm.domain.job import JobSpec
from farm.domain.views import (
    AttemptView,
    FramesRequest,
    JobView,
    ProofView,
    Verification,
    VerifyRequest,
)
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=documented(422, 503))


@router.post("", status_code=201, summary="Submit a job", responses=documented(400, 404, 409))
def submit_job(spec: JobSpec, farm: Farm, who: Who) -> JobView:
    """The scene must be registered. Settings that are left out stay as the scene has them.

    With ``adds_to`` the job adds samples to those that another one kept (its ``first``): the settings
    must be that job's but for samples, first and frames. ``control`` says before which others, where and
    when it is rendered; all of it but the order of frames can be changed later.
    """
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


@router.patch("/{job_id}", summary="Change how a job is dispatched", responses=documented(400, 404, 409))
def change_job(job_id: str, asked: ControlChange, farm: Farm, who: Who) -> JobView:
    """Priority, pause, start, limit, needs and dependencies of a job that has not ended.

    What is left out stays as it is; the answer shows what was asked at once. ``notes`` tells what may
    surprise: a start that is over, needs that no worker meets now.
    """
    return farm.change(who, job_id, asked)


@router.post("/{job_id}/retry", summary="Go on with what is missing", responses=documented(404, 409))
def retry_job(job_id: str, farm: Farm, who: Who) -> JobView:
    """Of a job that has failed or was cancelled, all that is missing; of an open one, its failed frames."""
    return farm.retry(who, job_id)


@router.post(
    "/{job_id}/requeue", summary="Begin frames of an open job again", responses=documented(400, 404, 409)
)
def requeue_frames(job_id: str, asked: FramesRequest, farm: Farm, who: Who) -> JobView:
    """Those of ``frames`` that render now, and that failed; without, all that failed. Done ones stay."""
    return farm.requeue(who, job_id, asked)


@router.post("/{job_id}/cancel", summary="Cancel a job", responses=documented(404, 409))
def cancel_job(job_id: str, farm: Farm, who: Who) -> JobView:
    """Finished frames are kept; what renders now is stopped."""
    return farm.cancel(who, job_id)


@router.post(
    "/{job_id}/verify",
    status_code=201,
    summary="Prove that frames are those rendered whole",
    responses={
        200: {"model": Verification, "description": "There is nothing to prove; no job was made."},
        **documented(400, 404, 409),
    },
)
def verify_job(job_id: str, asked: VerifyRequest, farm: Farm, who: Who, response: Response) -> Verification:
    """Makes a job that renders each frame whole, in plain Blender, and compares every pass and file."""
    made = farm.verify(who, job_id, asked)
    if made.job is None:
        response.status_code = 200
    return made


@router.get("/{job_id}/proofs", summary="What came out of verifying a job", responses=documented(404))
def list_proofs(
    job_id: str,
    farm: Farm,
    who: Who,
    first: Annotated[int, Query(ge=0, lt=1 << 31)] = 0,
    count: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> list[ProofView]:
    """The latest proof of each verified frame, by frame; of a job that verifies, those that it made."""
    return farm.proofs(who, job_id, first, count)


@router.get("/{job_id}/attempts", summary="Tries of a job's tasks", responses=documented(404))
def list_attempts(
    job_id: str,
    farm: Farm,
    who: Who,
    failed: Annotated[bool, Query(description="Only those that failed or were lost.")] = False,
) -> list[AttemptView]:
    return farm.attempts(who, job_id, failed)
