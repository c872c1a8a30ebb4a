"""`farm rerender`: a job once more, with more samples or other settings."""

from __future__ import annotations

from typing import Annotated

import typer

from farm.cli.connect import reached
from farm.cli.options import AsJson, FarmUrl, JobId
from farm.cli.speaker import Speaker
from farm.cli.wishes import OtherPriority

More = Annotated[
    int | None,
    typer.Option(min=1, max=1 << 24, metavar="N", help="Samples a pixel. Without it: as they were."),
]
Some = Annotated[
    str | None,
    typer.Option(metavar="RANGE", help="Frames, such as 7 or 1-10. Without it: as they were."),
]
Grid = Annotated[
    str | None,
    typer.Option(metavar="GRID", help="Tiles such as 2x2, none, or auto. Without it: as they were."),
]


def rerender(
    job_id: JobId,
    samples: More = None,
    frames: Some = None,
    tiles: Grid = None,
    priority: OtherPriority = None,
    as_json: AsJson = False,
    farm: FarmUrl = None,
) -> None:
    """Render a job once more as a new job, with more samples or other settings.

    A job that was submitted with --first keeps its samples, and --samples adds the others to them:
    the frames then equal those rendered with all samples at once. Beyond the total that was fixed
    from the start, independent samples are averaged, which is not identical. All else is rendered
    anew. Which of these will happen is said on stderr. The new job has the priority, the needs and
    the limit of the other, and neither its start nor what it waited for.

    Prints the new job's id, without waiting for it.

    \b
    Examples:
      farm rerender k3m9x2ab --samples 512
      farm rerender k3m9x2ab --frames 12 --tiles 4x4

    With --json: job, state, scene, of (the job that is rendered again), adds_to (where samples are
    added to it, else null) and what.
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        job, asked = client.rerender(job_id, samples=samples, frames=frames, tiles=tiles, priority=priority)
    if as_json:
        speaker.give(
            {
                "job": job.id,
                "state": job.state.value,
                "scene": job.scene_id,
                "of": job_id,
                "adds_to": asked.spec.adds_to,
                "what": asked.what,
            }
        )
    else:
        speaker.note(f"Job {job.id} {asked.what}.")
    speaker.say(job.id)
