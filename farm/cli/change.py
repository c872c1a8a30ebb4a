"""`farm set`: when, where and after what a job is rendered, changed while it waits or renders."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from farm.cli import when
from farm.cli.connect import reached
from farm.cli.each import each
from farm.cli.options import AsJson, FarmUrl, JobId
from farm.cli.speaker import Speaker
from farm.domain.control import HIGHEST, LOWEST, Control, ControlChange, Needs
from farm.domain.errors import UsageError
from farm.domain.telling import wishes
from farm.domain.views import JobView

_NONE = "none"

_Priority = Annotated[
    int | None, typer.Option(metavar="N", help=f"From {LOWEST} (last) to {HIGHEST} (first).")
]
_MaxWorkers = Annotated[
    str | None, typer.Option(metavar="N|none", help="So many workers at once, at most; none: all there are.")
]
_Start = Annotated[
    str | None,
    typer.Option(metavar="WHEN|now", help="Begin nothing before: 22:00, “in 2h”, 2026-12-24T18:00."),
]
_Memory = Annotated[
    str | None, typer.Option(metavar="SIZE|none", help="Only workers whose GPU (or machine) has so much.")
]
_Tag = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD|none", help="Only workers with this tag. Several times: with all of them."),
]
_After = Annotated[
    list[str] | None,
    typer.Option(metavar="JOB|none", help="Begin once this job is done. May be given several times."),
]
_FrameWise = Annotated[
    bool | None,
    typer.Option("--frame-wise/--whole", help="Wait for the frame of the same number, or for whole jobs."),
]
_OtherClass = Annotated[
    bool | None,
    typer.Option(
        "--other-class/--same-class",
        help="Whether a frame that fits into no worker of its kind may be rendered whole on another.",
    ),
]


def change(
    job_id: JobId,
    priority: _Priority = None,
    max_workers: _MaxWorkers = None,
    start: _Start = None,
    memory: _Memory = None,
    tag: _Tag = None,
    after: _After = None,
    frame_wise: _FrameWise = None,
    other_class: _OtherClass = None,
    as_json: AsJson = False,
    farm: FarmUrl = None,
) -> None:
    """Change when, where and after what a job is rendered.

    This works also while it renders; what is being rendered is not interrupted. What is not given stays
    as it is; “none” takes a limit, a need or a dependency back.

    \b
    Examples:
      farm set k3m9x2ab --max-workers 4
      farm set k3m9x2ab --start "in 2h" --tag rtx --memory 24GiB
      farm set k3m9x2ab --after p7w2c4de --frame-wise
      farm set k3m9x2ab --max-workers none --start now --tag none --after none

    With --json: as farm pause.
    """
    speaker = Speaker(as_json)
    asked: dict[str, Any] = {
        "priority": priority,
        "workers": None if max_workers is None else when.workers_at_most(max_workers),
        "start": None if start is None else 0.0 if start == "now" else when.moment(start),
        "after": None if after is None else _words(after, "--after"),
        "frame_wise": frame_wise,
        "other_class": other_class,
    }
    asked = {name: value for name, value in asked.items() if value is not None}
    if not asked and memory is None and tag is None:
        raise UsageError("Nothing is to be changed.", "See: farm set --help")
    bytes_ = None if memory is None else 0 if memory == _NONE else when.memory(memory)
    tags = None if tag is None else _words(tag, "--tag")
    with reached(farm) as client:

        def change(one: str) -> JobView:
            more = {}
            if bytes_ is not None or tags is not None:  # of what a worker needs, the other half stays
                had = client.job(one).control.needs
                more["needs"] = Needs(
                    memory=had.memory if bytes_ is None else bytes_, tags=had.tags if tags is None else tags
                )
            return client.change(one, ControlChange.model_validate(asked | more))

        each(speaker, [job_id], change, lambda job: f"Job {job.id}: {_told(job.control)}.")


def _words(given: list[str], option: str) -> tuple[str, ...]:
    if given == [_NONE]:
        return ()
    if _NONE in given:
        raise UsageError(f"{option} none stands beside others.", f"Give {option} none alone.")
    return tuple(given)


def _told(control: Control) -> str:
    said = [f"{name} {words}" for name, words in wishes(control, time.time())]
    return ", ".join(said) or "nothing but its turn is waited for"
