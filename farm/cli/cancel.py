"""`farm cancel`, and the cancelling that Ctrl-C does."""

from __future__ import annotations

import time
from contextlib import suppress

import typer

from farm.cli.connect import reached
from farm.cli.options import AsJson, FarmUrl, JobId
from farm.cli.speaker import Speaker
from farm.client.client import FarmClient
from farm.domain.errors import Conflict, TesseraError
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.views import JobView

_WAIT = 20.0  # seconds to see a cancelled job end
_PAUSE = 0.2


def cancel_and_wait(client: FarmClient, job: JobView) -> JobView:
    """Cancel and see it end; the newest view where the farm is too far gone for that. Never raises."""
    with suppress(TesseraError):
        with suppress(Conflict):  # it has ended by itself meanwhile
            job = client.cancel(job.id)
        return _ended(client, job)
    return job


def _ended(client: FarmClient, job: JobView) -> JobView:
    give_up = time.monotonic() + _WAIT
    while True:
        job = client.job(job.id)
        if job.state in JOB_ENDED or time.monotonic() > give_up:
            return job
        time.sleep(_PAUSE)


def cancel(job_id: JobId, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Cancel a job. What is finished stays, and can be fetched.

    \b
    Example:
      farm cancel k3m9x2ab
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        job = _ended(client, client.cancel(job_id))
    if as_json:
        speaker.give({"job": job.id, "state": job.state.value})
    if job.state is JobState.CANCELLED:
        speaker.say(f"Job {job.id} is cancelled; {job.frames.done} of {job.frames.total} frames are done.")
    elif job.state in JOB_ENDED:
        speaker.say(f"Job {job.id} was {job.state} before it could be cancelled.")
    else:
        speaker.note(f"Job {job.id} will be cancelled as soon as the farm's dispatcher answers.")
        raise typer.Exit(1)
