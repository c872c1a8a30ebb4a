"""`farm fetch`: bring a job's frames here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farm.cli.collect import Collector, check_folder
from farm.cli.connect import reached
from farm.cli.follow import Follower
from farm.cli.options import AsJson, FarmUrl, JobId, Overwrite
from farm.cli.progress import Display
from farm.cli.speaker import Speaker, clean, problem
from farm.cli.words import number
from farm.domain.states import JOB_ENDED

Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder for the pictures. Without it: NAME-JOB in this folder."),
]


def fetch(
    job_id: JobId,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    farm: FarmUrl = None,
) -> None:
    """Bring the finished frames of a job here, and its movies.

    What lies in the folder already is checked and not fetched again, so that a broken fetch is
    resumed by calling it once more. Every file is verified by its SHA-256.

    \b
    Example:
      farm fetch k3m9x2ab --out pictures

    With --json: job, state, frames (each with frame, seconds and outputs: path, bytes, sha256) and
    videos (path, bytes, sha256).
    """
    speaker = Speaker(as_json)
    if out is not None:
        check_folder(out)
    with reached(farm) as client:
        job = client.job(job_id)
        folder = out or Path(f"{clean(job.name).replace('/', '_')}-{job.id}")
        follower = Follower(client, job, speaker, Collector(client, folder, overwrite))
        with Display(speaker):
            follower.catch_up()
    outcome = follower.outcome
    failure = outcome.in_the_way()
    if as_json:
        speaker.give(outcome.as_json() | (problem(failure) if failure is not None else {}))
    if failure is not None:
        speaker.fail(failure)
        raise typer.Exit(failure.exit_code)
    rest = "" if job.state in JOB_ENDED else f" The job goes on ({job.frames.total} frames in all)."
    movies = f" and {number(count, 'movie')}" if (count := len(outcome.movies.outputs)) else ""
    speaker.say(f"{number(len(outcome.delivered), 'frame')}{movies} in {folder}.{rest}")
