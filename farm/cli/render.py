"""`farm render`: a scene in, frames out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from farm.assets.pack import pack
from farm.cli.cancel import cancel_and_wait
from farm.cli.collect import Collector, check_folder
from farm.cli.connect import reached_or_started
from farm.cli.follow import Follower, InTheWay
from farm.cli.interrupts import interrupts_held
from farm.cli.options import AsJson, FarmUrl, Overwrite, Scene, takes_settings
from farm.cli.progress import Display
from farm.cli.send import send
from farm.cli.speaker import Speaker, clean, problem
from farm.cli.words import duration, number
from farm.client.again import kept
from farm.domain.control import Control
from farm.domain.errors import Conflict, TesseraError
from farm.domain.job import RenderSettings
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.views import JobView

Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder for the pictures. Without it: SCENE-JOB in this folder."),
]


@takes_settings
def render(
    scene_file: Scene,
    settings: RenderSettings,
    control: Control,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    farm: FarmUrl = None,
) -> None:
    """Render a scene and bring its frames here.

    Uses the farm named by --farm or FARM_URL, else the one that runs on this machine. Where none
    runs, one is started for this render and ended after it.

    Each frame lands in the output folder as soon as it is finished. Ctrl-C cancels the job.

    A file that is there already is never replaced without --overwrite, and the command then ends
    with 1. Where the first frame finds its place taken, the job is cancelled before more frames are
    rendered for nothing. Where that happens to a later one, the rest is rendered and fetched, and
    the frame waits on the farm for: farm fetch JOB --out OTHER

    \b
    Examples:
      farm render shot.blend
      farm render shot.blend --frames 1-48 --scale 50 --samples 64
      farm render still.blend --frames 1 --tiles 4x4 --out pictures
      farm render still.blend --samples 512 --first 64

    With --json: job, state, frames (each with frame, seconds and outputs: path, bytes, sha256),
    videos (path, bytes, sha256) and wall_seconds; error, cure and code too where something went
    wrong.
    """
    started = time.monotonic()
    speaker = Speaker(as_json)
    packed = pack(scene_file)
    if out is not None:
        check_folder(out)
    speaker.warn(packed.warnings)
    follower: Follower | None = None
    failure: TesseraError | None = None
    code = 0
    with reached_or_started(farm, speaker) as (client, own), Display(speaker) as display:
        try:
            spec = send(client, packed, scene_file, settings, control, display)
            with interrupts_held():
                job = client.submit(spec)
                folder = out or Path(f"{clean(scene_file.stem)}-{job.id}")
                follower = Follower(
                    client, job, speaker, Collector(client, folder, overwrite), packed.warnings
                )
            speaker.say(f"Job {job.id}: {scene_file.name}, pictures go to {folder}")
            for note in job.notes:
                speaker.note(f"Note: {note}")
            follower.to_the_end(display)
        except KeyboardInterrupt:
            if follower is None:
                raise
            speaker.note(f"Cancelling job {follower.outcome.job.id} …")
            follower.outcome.job = cancel_and_wait(client, follower.outcome.job)
            failure, code = _interrupted(follower), 130
        except InTheWay as error:
            assert follower is not None  # noqa: S101  the follower raised it
            failure = _stopped(follower, cancel_and_wait(client, follower.outcome.job), error)
        except TesseraError as error:
            if follower is None:
                raise
            failure = error
            if own:  # nobody would fetch the rest: the farm ends with this command
                follower.outcome.job = cancel_and_wait(client, follower.outcome.job)
    assert follower is not None  # noqa: S101  it left otherwise
    outcome = follower.outcome
    failure = failure or outcome.problem()
    wall = time.monotonic() - started
    if as_json:
        told = outcome.as_json() | {"wall_seconds": round(wall, 3)}
        speaker.give(told | (problem(failure) if failure is not None else {}))
    if failure is not None:
        speaker.fail(failure)
        raise typer.Exit(code or failure.exit_code)
    speaker.say(f"{number(len(outcome.delivered), 'frame')} in {duration(wall)}, in {folder}")
    if there := kept(outcome.job):
        speaker.say(f"{there} samples are kept. Add more with: farm rerender {outcome.job.id} --samples N")


def _stopped(follower: Follower, job: JobView, error: InTheWay) -> TesseraError | None:
    """The error after the job was cancelled for a file in the way; None where it was done by then."""
    follower.outcome.job = job
    follower.catch_up()
    if job.state is JobState.DONE:
        return None  # the outcome itself names the file
    ended = "was cancelled" if job.state in JOB_ENDED else "will be cancelled once the farm answers"
    return InTheWay(f"{error.what} Job {job.id} {ended}, so that no more frames are spent.", error.cure)


def _interrupted(follower: Follower) -> TesseraError:
    job, count = follower.outcome.job, number(len(follower.outcome.delivered), "finished frame")
    ended = f"is {job.state}" if job.state in JOB_ENDED else "will be cancelled once the farm answers"
    return Conflict(
        f"Interrupted. Job {job.id} {ended}; {count} fetched.", "Render again to start a new job."
    )
