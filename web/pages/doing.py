"""What can be done to a job now, so that a page offers nothing that the farm would refuse."""

from __future__ import annotations

from farm.domain.states import JOB_ENDED, JobState
from farm.domain.views import JobView


def can_cancel(job: JobView) -> bool:
    """It goes on, or was asked to."""
    return (job.state not in JOB_ENDED or job.retrying) and not job.cancelling


def can_pause(job: JobView) -> bool:
    """It can be paused, resumed, and given another priority."""
    return can_cancel(job)


def can_retry(job: JobView) -> bool:
    """Something of it failed, or it came to nothing."""
    if job.cancelling or job.retrying:
        return False
    return job.state in (JobState.FAILED, JobState.CANCELLED) or (
        job.state is JobState.RENDERING and job.frames.failed > 0
    )
