"""`farm jobs` and `farm show`: look at the farm's jobs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from farm.cli.connect import reached
from farm.cli.made import tell_made
from farm.cli.options import AsJson, FarmUrl, JobId
from farm.cli.proving import proved
from farm.cli.speaker import Speaker, clean
from farm.cli.words import duration, number
from farm.domain.control import NORMAL
from farm.domain.telling import costs, held, in_local_time, price, priced, standing, wishes, within
from farm.domain.views import AttemptView, JobView

_ATTEMPTS_SHOWN = 10
_RECUTS_SHOWN = 5
_SHORTEST = 8  # characters of a name, or of a state
_WORDS = 32  # of both together, from which on a price has room

OneFrame = Annotated[
    int | None, typer.Option("--frame", metavar="N", help="How this frame was made, try by try.")
]
Limit = Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How many, the newest first.")]


def jobs(limit: Limit = 20, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """List the farm's jobs, the newest first. One that verifies another is called “proof of” it.

    \b
    Example:
      farm jobs --limit 5

    With --json: jobs, a list of what the API answers for each.
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        found = client.jobs(limit)
    if as_json:
        speaker.give({"jobs": [job.model_dump(mode="json") for job in found]})
    elif not found:
        speaker.say("There are no jobs yet. Send a scene with: farm render SCENE.blend")
    else:
        speaker.draw(_table(found, time.time(), speaker.out.width))


def _table(found: list[JobView], now: float, width: int) -> Table:
    """One line a job; priority and price only where a job has one that is worth a column.

    Where ``width`` is short of room, price goes first; then name and state are cut, and nothing else.
    """
    columns = {"job": [job.id for job in found]}
    if any(job.control.priority != NORMAL for job in found):
        columns["priority"] = [str(job.control.priority) for job in found]
    columns["frames"] = [f"{j.frames.done}/{j.frames.total}" if j.frames.total else "–" for j in found]
    columns["time"] = [_time(job, now) for job in found]
    if any(job.price is not None for job in found):
        columns["price"] = ["" if job.price is None else priced(job.price) for job in found]
        if width - _taken(columns) < _WORDS:
            del columns["price"]
    room = max(width - _taken(columns), 2 * _SHORTEST)
    states = [clean(_state(job)) for job in found]
    of_name = max(_SHORTEST, min(24, room - min(26, max(map(len, states)))))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("job", no_wrap=True)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=of_name, min_width=_SHORTEST)
    most = max(_SHORTEST, min(26, room - of_name))
    table.add_column("state", overflow="ellipsis", no_wrap=True, max_width=most, min_width=_SHORTEST)
    for name in list(columns)[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in zip(columns.pop("job"), found, states, *columns.values(), strict=True):
        job_id, job, state, *rest = row
        table.add_row(*(Text(cell) for cell in (job_id, clean(job.name), state, *rest)))
    return table


def _taken(columns: Mapping[str, list[str]]) -> int:
    """Characters of a line without name and state, with what is between them all."""
    return sum(max(len(name), *map(len, cells)) + 2 for name, cells in columns.items()) + 4


def _state(job: JobView) -> str:
    return (standing(job) or _word(job)) + _failed(job)


def _word(job: JobView) -> str:
    if held(job):
        return "paused"
    return "cancelling" if job.cancelling else "retrying" if job.retrying else job.state.value


def _failed(job: JobView) -> str:
    return f", {job.frames.failed} failed" if job.frames.failed else ""


def _time(job: JobView, now: float) -> str:
    if job.left is not None:
        return f"{within(job.left)} left"
    if job.ended is not None:
        return f"took {duration(job.ended - (job.started or job.created))}"
    return f"for {duration(max(0.0, now - job.created))}"


def show(job_id: JobId, frame: OneFrame = None, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """Show one job: state, plan, control, costs, proof, findings and failed attempts.

    Each finding and each failed attempt comes with its cure. With --frame: how that frame was made.

    \b
    Examples:
      farm show k3m9x2ab
      farm show k3m9x2ab --frame 12

    With --json: what the API answers for the job, and failed_attempts; with --frame what it answers
    for the frame's provenance: attempts (each with cause, what and cure, or with made: render_class,
    device_name, driver, seed, peak_memory; and seconds), counts (the attempts that make the frame),
    scene_id and files (SHA-256 by name).
    """
    speaker = Speaker(as_json)
    with reached(farm) as client:
        if frame is not None:
            tell_made(speaker, client.provenance(job_id, frame))
            return
        job = client.job(job_id)
        failed = client.attempts(job_id, failed=True)
    if as_json:
        speaker.give(
            job.model_dump(mode="json") | {"failed_attempts": [one.model_dump(mode="json") for one in failed]}
        )
        return
    for name, value in _facts(job):
        speaker.say(f"{name:<9}{value}")
    for finding in job.findings:
        speaker.say(f"{finding.weight.value:<9}{finding.what} {finding.cure}")
    if job.error:
        speaker.say(f"{'error':<9}{job.error} {job.cure}")
    _tell_attempts(speaker, failed)


def _facts(job: JobView) -> list[tuple[str, str]]:
    now = job.ended if job.ended is not None else time.time()
    facts = [("job", f"{job.id}  {job.name}"), ("state", _word(job) + _failed(job))]
    why = "" if held(job) else in_local_time(job.waits, time.time())
    facts += [("waits", why)] if why else []
    facts += wishes(job.control, now)
    if job.proves is not None:
        facts.append(("proves", f"job {job.proves}"))
    if job.adds_to is not None:
        facts.append(("adds to", f"job {job.adds_to}"))
    if job.frames.total:
        facts.append(
            ("frames", f"{job.frames.done} of {job.frames.total} done, {job.frames.running} running")
        )
    if job.plan:
        facts += [
            ("range", f"{job.plan.frames} at {job.plan.size}"),
            ("plan", job.plan.reason + ("" if job.plan.exact else " (not exact)")),
        ]
    facts += [("cut", f"frame {one.frame}: {one.why}") for one in job.recuts[:_RECUTS_SHOWN]]
    if job.verified:
        facts.append(("proof", proved(job)))
    facts += [("movie", movie.name) for movie in job.videos]
    if job.report:
        report = job.report
        facts.append(("scene", f"{report.scene}, {report.engine}, {number(report.samples, 'sample')}"))
    if job.started is not None:
        facts.append(("time", duration(max(0.0, now - job.started))))
    if job.left is not None:
        facts.append(("left", within(job.left)))
    cut = job.plan is not None and job.plan.pieces_per_frame > 0
    facts += [("costs", said)] if (said := costs(job.costs, cut)) else []
    facts += [("price", said)] if (said := price(job)) else []
    return facts


def _tell_attempts(speaker: Speaker, failed: list[AttemptView]) -> None:
    for one in failed[-_ATTEMPTS_SHOWN:]:
        speaker.say(f"{one.state.value:<9}{one.words} on {one.worker_id}: {one.what or 'no reason known.'}")
        if one.cure:
            speaker.say(f"{'':<9}{one.cure}")
    if (more := len(failed) - _ATTEMPTS_SHOWN) > 0:
        speaker.say(f"{'':<9}{number(more, 'earlier attempt')} failed too.")
