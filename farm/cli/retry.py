"""`farm retry`: once more what failed, or was cancelled."""

from __future__ import annotations

from typing import Annotated

import typer

from farm.cli.connect import reached
from farm.cli.each import each
from farm.cli.options import AsJson, FarmUrl, JobId
from farm.cli.speaker import Speaker
from farm.domain.views import JobView

Some = Annotated[
    str | None,
    typer.Option(
        metavar="RANGE", help="Of a job that renders: begin these frames again, also those that render now."
    ),
]


def retry(job_id: JobId, frames: Some = None, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Try once more what failed of a job. What is done stays done.

    A job that has failed or was cancelled goes on with all that is missing of it. Of a job that still
    renders, the frames that failed are begun again; with --frames those of the range that failed or
    are being rendered.

    \b
    Examples:
      farm retry k3m9x2ab
      farm retry k3m9x2ab --frames 3-7

    With --json: as farm pause.
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:

        def ask(one: str) -> JobView:
            return client.retry(one) if frames is None else client.requeue(one, frames)

        def told(job: JobView) -> str:
            if job.retrying:
                return f"Job {job.id} goes on with what is missing of it."
            which = "that failed" if frames is None else f"of {frames} that render or failed"
            return f"Frames {which} of job {job.id} are begun again."

        each(speaker, [job_id], ask, told)
