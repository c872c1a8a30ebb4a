"""Does ``--tiles auto`` decide right? Compared with whole frames and with two tiles, on this machine.

``python -m benchmarks.auto`` starts a farm of two workers and renders small jobs three ways: some that
are to be cut, some that are not. Each way begins with workers that have another scene loaded. The exit
code is 1 where auto took clearly longer than the better of the other two.

Seconds are those from a job's plan to its end, as the farm tells them: sending and inspecting a scene is
the same for all ways.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

import scenes
from benchmarks import ways
from farm.assets.pack import pack
from farm.client.client import FarmClient
from farm.domain.job import JobSpec, RenderSettings
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.views import JobView

WAYS = ("none", "2x1", "auto")
#: Auto decided wrongly where it took so many times the better way, and so many seconds, longer.
_CLEARLY = 1.25
_SECONDS = 1.5
_LONGEST = 600.0  # seconds for one job


@dataclass(frozen=True)
class Case:
    """A job, and whether an earlier one of its scene has told what it costs when auto decides."""

    name: str
    scene: str
    settings: dict[str, object]
    known: bool = False


#: Samples are powers of two: with others, what is denoised is not exact in pieces, and auto cuts nothing.
CASES = (
    Case("still, heavy", "still", {"frames": "1", "scale": 50, "samples": 32}),
    Case("still, heavy, known", "still", {"frames": "1", "scale": 40, "samples": 32}, known=True),
    Case("odd number of heavy frames", "still", {"frames": "1-3", "scale": 40, "samples": 32}),
    Case("still, tiny", "still", {"frames": "1", "scale": 12, "samples": 8}),
    Case("still, long to prepare, known", "forest", {"frames": "1", "scale": 50, "samples": 8}, known=True),
    Case("many light frames", "turntable", {"frames": "1-16", "scale": 25, "samples": 4}),
)
#: Rendered between, so that no worker has a scene loaded that the next way renders.
_BETWEEN = Case("between", "passes", {"frames": "1-4", "scale": 25, "samples": 2, "tiles": "none"})


@dataclass
class Outcome:
    """Seconds by way, and what auto said."""

    case: Case
    seconds: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def right(self) -> bool:
        """Whether auto was about as quick as the better way."""
        best = min(self.seconds[way] for way in WAYS if way != "auto")
        return self.seconds["auto"] <= max(best * _CLEARLY, best + _SECONDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and tell by the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto", description=__doc__)
    parser.add_argument("--case", action="append", metavar="WORDS", help="only cases with this in their name")
    chosen = parser.parse_args(arguments)
    cases = [case for case in CASES if not chosen.case or any(words in case.name for words in chosen.case)]
    console = Console()
    try:
        with tempfile.TemporaryDirectory(prefix="auto-") as room:
            outcomes = _measured(cases, Path(room), console)
    except (ways.BenchmarkFailed, scenes.BuildFailed, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    console.print(_table(outcomes))
    return 0 if all(outcome.right for outcome in outcomes) else 1


def _measured(cases: Sequence[Case], room: Path, console: Console) -> list[Outcome]:
    built = {
        name: scenes.build_file(name, room / f"{name}.blend")
        for name in {case.scene for case in (*cases, _BETWEEN)}
    }
    outcomes = []
    with ways.farm(room / "home", workers=2), FarmClient(ways.url(room / "home")) as client:
        for number, case in enumerate(cases):
            outcome = Outcome(case)
            for way in WAYS:
                with console.status(f"{case.name}: {way}"):
                    _render(client, built[_BETWEEN.scene], _BETWEEN.settings)
                    # By another name it is another scene, of which nothing is known.
                    copy = room / f"{number}-{'known' if case.known else way}.blend"
                    shutil.copy(built[case.scene], copy)
                    job = _render(client, copy, case.settings | {"tiles": way})
                outcome.seconds[way] = (job.ended or 0.0) - (job.started or 0.0)
                outcome.reason = job.plan.reason if job.plan else ""
            outcomes.append(outcome)
    return outcomes


def _render(client: FarmClient, blend: Path, settings: dict[str, object]) -> JobView:
    packed = pack(blend)
    scene = client.upload_scene(packed.manifest, packed.root, elsewhere=packed.elsewhere)
    spec = JobSpec(
        name=blend.stem,
        scene_id=scene.scene_id,
        settings=RenderSettings.model_validate({"device": "cpu", **settings}),
    )
    job = client.submit(spec)
    deadline = time.monotonic() + _LONGEST
    while job.state not in JOB_ENDED:
        if time.monotonic() > deadline:
            client.cancel(job.id)
        time.sleep(0.2)
        job = client.job(job.id)
    if job.state is not JobState.DONE:
        raise ways.BenchmarkFailed(f"{blend.stem} ended as {job.state}: {job.error}")
    return job


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(
        "case", *(f"{way}, s" for way in WAYS), "auto to the better", "auto decided", "what it said"
    )
    for outcome in outcomes:
        best = min(outcome.seconds[way] for way in WAYS if way != "auto")
        table.add_row(
            outcome.case.name,
            *(f"{outcome.seconds[way]:.1f}" for way in WAYS),
            f"{outcome.seconds['auto'] / best:.2f}×",
            "right" if outcome.right else "wrongly",
            outcome.reason,
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
