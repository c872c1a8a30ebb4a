"""`farm priority`: which job goes first."""

from __future__ import annotations

from typing import Annotated

import typer

from farm.cli.connect import reached
from farm.cli.each import each
from farm.cli.options import AsJson, FarmUrl, JobId
from farm.cli.speaker import Speaker
from farm.domain.control import HIGHEST, LOWEST, NORMAL, ControlChange

Number = Annotated[int, typer.Argument(metavar="N", help=f"From {LOWEST} (last) to {HIGHEST} (first).")]


def priority(job_id: JobId, number: Number, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Give a job another priority, also while it renders.

    Jobs have 50 unless told otherwise. Of two jobs that a free worker could help, the one with the
    higher number gets it. What is being rendered is not interrupted.

    \b
    Example:
      farm priority k3m9x2ab 80

    With --json: as farm pause.
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        each(
            speaker,
            [job_id],
            lambda one: client.change(one, ControlChange(priority=number)),
            lambda job: (
                f"Job {job.id} has priority {job.control.priority}"
                + (", as jobs have by default." if job.control.priority == NORMAL else ".")
            ),
        )
