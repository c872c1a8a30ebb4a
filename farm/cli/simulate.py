"""`farm simulate`: how a farm would do, without one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from farm.cli.options import AsJson
from farm.cli.speaker import Speaker
from farm.cli.words import duration, number
from farm.domain.errors import UsageError

if TYPE_CHECKING:
    from farm.simulate.report import Outcome


class PolicyName(StrEnum):
    """Who decides."""

    OURS = "ours"
    WHOLE_FIFO = "whole-fifo"
    FIXED_CHUNKS = "fixed-chunks"
    ALL = "all"


TraceFile = Annotated[
    Path | None, typer.Option("--trace", metavar="FILE", help="A trace of your own, see docs/scheduling.md.")
]
Mix = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A trace that comes with it: animation, bursts, heavy-sync, spot, stills or studio-day.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, max=100_000, metavar="N", help="Workers. Without it: as many as the trace names."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="What the trace leaves open is drawn from it.")]
Policy = Annotated[
    PolicyName, typer.Option(help="Who decides: the dispatcher, one of two plain ways, or each in turn.")
]
Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE.svg", help="Draw what the workers were at over time.", dir_okay=False),
]


def simulate(
    mix: Mix = None,
    trace: TraceFile = None,
    workers: Workers = None,
    seed: Seed = 1,
    policy: Policy = PolicyName.OURS,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Try the dispatcher on a farm that is not there.

    The real dispatcher decides; time and workers are simulated, so that a day of a thousand workers
    takes a minute or two. Speeds, failures and preemptions are drawn from the seed.

    \b
    Examples:
      farm simulate --mix stills
      farm simulate --mix studio-day --workers 1000 --policy all --plot day.svg
      farm simulate --trace ours.toml --json

    With --json: trace, seed, workers, jobs, frames, and the outcomes by policy.
    """
    from farm.simulate import plot as plots
    from farm.simulate.report import simulate as run
    from farm.simulate.scenario import scenario
    from farm.simulate.trace import mix as named
    from farm.simulate.trace import mixes, read

    speaker = Speaker(as_json)
    if (mix is None) == (trace is None):
        raise UsageError(
            "Which work is to be simulated?", f"Give --trace FILE, or --mix {', '.join(mixes())}."
        )
    if plot is not None:
        plots.check(plot)
    chosen = named(mix) if mix is not None else read(trace or Path())
    drawn = scenario(chosen, seed, workers)
    speaker.say(
        f"{chosen.about}: {number(len(drawn.jobs), 'job')} of {number(drawn.tasks, 'frame')} "
        f"for {number(len(drawn.machines), 'worker')}, seed {seed}."
    )
    policies = [
        each for each in PolicyName if each is not PolicyName.ALL and policy in (each, PolicyName.ALL)
    ]
    runs = []
    for each in policies:
        with speaker.err.status(f"{each.value} …") as status:
            runs.append(run(drawn, each.value, lambda now: status.update(f"{duration(now)} are over …")))
    if plot is not None:
        plots.save(plot, chosen.about, runs)
        speaker.say(f"The plot is in {plot}")
    outcomes = [outcome for outcome, _ in runs]
    if as_json:
        speaker.give(
            {
                "trace": chosen.name,
                "seed": seed,
                "workers": len(drawn.machines),
                "jobs": len(drawn.jobs),
                "frames": drawn.tasks,
                "outcomes": {outcome.policy: outcome.plain_data() for outcome in outcomes},
            }
        )
    speaker.draw(_table(outcomes))
    for outcome in outcomes:
        for job_id, why in outcome.failed.items():
            speaker.note(f"With {outcome.policy}, {job_id} was not done: {why}")


def _table(outcomes: list[Outcome]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for outcome in outcomes:
        table.add_column(outcome.policy, justify="right")

    def row(name: str, *cells: str) -> None:
        table.add_row(name, *cells)

    row("makespan", *(duration(each.makespan) for each in outcomes))
    row("× the lower bound", *(f"{each.times_bound:.3f}" for each in outcomes))
    row("a job takes, mean", *(duration(each.job_mean) for each in outcomes))
    row("a job takes, median", *(duration(each.job_median) for each in outcomes))
    row("stretch, mean", *(f"{each.stretch_mean:.1f} ×" for each in outcomes))
    row("fairness (Jain)", *(f"{each.fairness:.2f}" for each in outcomes))
    row("utilisation", *(f"{each.utilisation:.1%}" for each in outcomes))
    row("in vain", *(f"{1 - each.useful:.1%}" for each in outcomes))
    row("cost", *(f"{each.cost:,.2f}" for each in outcomes))
    row("attempts", *(f"{each.attempts:,}" for each in outcomes))
    row(
        "frames cut, cut again, raced",
        *(f"{each.cut:,}, {each.recut:,}, {each.raced:,}" for each in outcomes),
    )
    row("failed attempts", *(f"{sum(each.failures.values()):,}" for each in outcomes))
    row("workers set aside", *(f"{each.aside:,}" for each in outcomes))
    row("time left: range held", *(_held(each) for each in outcomes))
    return table


def _held(outcome: Outcome) -> str:
    return "" if outcome.honesty is None else f"{outcome.honesty.held:.0%}"
