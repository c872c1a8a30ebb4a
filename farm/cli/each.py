"""The same done to several jobs: what works is told, and so is what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from farm.cli.speaker import Speaker, problem
from farm.domain.errors import TesseraError, Unavailable
from farm.domain.views import JobView

JobIds = Annotated[
    list[str], typer.Argument(metavar="JOB...", help="Ids of jobs, as `farm jobs` lists them.")
]


def each(
    speaker: Speaker,
    job_ids: Iterable[str],
    ask: Callable[[str], JobView],
    told: Callable[[JobView], str],
) -> None:
    """Ask for each job in turn; ends the command with the first failure's code once all were asked."""
    done: list[JobView] = []
    failures: list[TesseraError] = []
    for job_id in dict.fromkeys(job_ids):
        try:
            job = ask(job_id)
        except Unavailable:
            raise
        except TesseraError as error:
            failures.append(error)
            speaker.fail(error)
        else:
            done.append(job)
            speaker.say(told(job))
            for note in job.notes:
                speaker.note(f"Note: {note}")
    if speaker.as_json:
        answers = [
            {
                "job": job.id,
                "state": job.state.value,
                "control": job.control.model_dump(mode="json"),
                "waits": job.waits,
                "retrying": job.retrying,
                "notes": job.notes,
            }
            for job in done
        ]
        speaker.give({"jobs": answers} | (problem(failures[0]) if failures else {}))
    if failures:
        raise typer.Exit(failures[0].exit_code)
