"""`farm watch`: look at a job until it ends."""

from __future__ import annotations

import typer

from farm.cli.connect import reached
from farm.cli.follow import Follower
from farm.cli.options import AsJson, FarmUrl, JobId
from farm.cli.progress import Display
from farm.cli.speaker import Speaker, problem
from farm.cli.words import number


def watch(job_id: JobId, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Show a job's progress until it ends. Ctrl-C stops the watching, not the job.

    Ends with 0 where the job is done, and 1 where it failed or was cancelled. The farm may be
    restarted meanwhile.

    \b
    Example:
      farm watch k3m9x2ab

    With --json: job, state, frames (frame, seconds, outputs) and videos, at the end.
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        follower = Follower(client, client.job(job_id), speaker)
        try:
            with Display(speaker) as display:
                outcome = follower.to_the_end(display)
        except KeyboardInterrupt:
            speaker.note(f"Stopped watching. Job {job_id} goes on.")
            raise typer.Exit(130) from None
    failure = outcome.problem()
    if as_json:
        speaker.give(outcome.as_json() | (problem(failure) if failure is not None else {}))
    if failure is not None:
        speaker.fail(failure)
        raise typer.Exit(failure.exit_code)
    speaker.say(
        f"Job {job_id} is done: {number(len(outcome.delivered), 'frame')}. "
        f"Bring them here with: farm fetch {job_id}"
    )
