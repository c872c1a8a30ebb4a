"""Options for how a job is dispatched: before which others, when, where, on how many workers."""

from __future__ import annotations

from typing import Annotated

import typer

from farm.cli import when
from farm.domain.control import HIGHEST, LOWEST, NORMAL, Control, Needs
from farm.domain.errors import UsageError

PriorityNumber = Annotated[
    int,
    typer.Option(metavar="N", help=f"From {LOWEST} (last) to {HIGHEST} (first): higher ones go before."),
]
OtherPriority = Annotated[
    int | None,
    typer.Option(metavar="N", help=f"Of the new job, from {LOWEST} (last) to {HIGHEST} (first)."),
]
_After = Annotated[
    list[str] | None,
    typer.Option(metavar="JOB", help="Begin once this job is done. May be given several times."),
]
_FrameWise = Annotated[
    bool,
    typer.Option("--frame-wise", help="With --after: each frame waits for that of its number only."),
]
_Start = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="Begin nothing before: 22:00, “in 2h”, 2026-12-24T18:00."),
]
_MaxWorkers = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="So many workers at once, at most.")
]
_Memory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Only workers whose GPU (or machine) has so much: 24GiB."),
]
_Tag = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD", help="Only workers with this tag. Several times: with all of them."),
]
_Order = Annotated[
    str,
    typer.Option(
        metavar="preview|turn|every:N",
        help="Frames first, last and middle before the others, as they come, or every Nth first.",
    ),
]
_OtherClass = Annotated[
    bool,
    typer.Option(
        "--other-class", help="Where a frame fits into no worker of its kind, render it whole on another."
    ),
]
_Paused = Annotated[bool, typer.Option("--paused", help="Begin nothing until: farm resume JOB.")]


def asked_control(
    priority: PriorityNumber = NORMAL,
    after: _After = None,
    frame_wise: _FrameWise = False,
    start: _Start = None,
    max_workers: _MaxWorkers = None,
    memory: _Memory = None,
    tag: _Tag = None,
    order: _Order = "preview",
    other_class: _OtherClass = False,
    paused: _Paused = False,
) -> Control:
    """The options as one value; raises `UsageError` for what cannot be read or does not go together."""
    if frame_wise and not after:
        raise UsageError(
            "--frame-wise says how to wait for another job, and none is named.",
            "Name it with --after JOB, or leave out --frame-wise.",
        )
    return Control(
        priority=priority,
        paused=paused,
        start=None if start is None else when.moment(start),
        workers=max_workers,
        needs=Needs(memory=0 if memory is None else when.memory(memory), tags=tuple(tag or ())),
        after=tuple(after or ()),
        frame_wise=frame_wise,
        order=order,
        other_class=other_class,
    )
