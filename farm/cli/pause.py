"""`farm pause` and `farm resume`."""

from __future__ import annotations

from farm.cli.connect import reached
from farm.cli.each import JobIds, each
from farm.cli.options import AsJson, FarmUrl
from farm.cli.speaker import Speaker
from farm.cli.words import number
from farm.domain.control import ControlChange
from farm.domain.states import JobState
from farm.domain.views import JobView


def pause(job_ids: JobIds, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Begin nothing new of these jobs. What is being rendered goes on to its end.

    \b
    Example:
      farm pause k3m9x2ab

    With --json: jobs, a list of job, state, control, waits, retrying and notes; error, cure and code
    too where one could not be paused.
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        each(speaker, job_ids, lambda job_id: client.change(job_id, ControlChange(paused=True)), _paused)


def _paused(job: JobView) -> str:
    if job.state is JobState.WAITING:
        return f"Job {job.id} is paused: nothing of it is begun."
    running = job.frames.running
    goes = f" What renders now, of {number(running, 'frame')}, goes on to its end."
    return f"Job {job.id} is paused: nothing new is begun." + (goes if running else "")


def resume(job_ids: JobIds, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Go on with jobs that were paused, or submitted with --paused.

    \b
    Example:
      farm resume k3m9x2ab

    With --json: as farm pause.
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        each(speaker, job_ids, lambda job_id: client.change(job_id, ControlChange(paused=False)), _resumed)


def _resumed(job: JobView) -> str:
    return f"Job {job.id} goes on when it is its turn."
