"""One still shared by K workers, against ``sync + render / K``.

``python -m benchmarks.scaling`` renders a still on a farm on this machine with workers of one thread each:
whole on one, then shared by two; and simulates one for K up to 64 (``--simulated`` only that).
`docs/scheduling.md` tells what came out.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import scenes
from benchmarks import ways
from farm.client.client import FarmClient
from farm.domain.states import JOB_ENDED, AttemptState, JobState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.views import AttemptView
from farm.simulate.report import simulate
from farm.simulate.scenario import scenario
from farm.simulate.trace import Jobs, Trace

#: At most so many times ``sync + render / K``.
GOAL = 1.10
SIMULATED = (2, 4, 8, 16, 32, 64)
#: A still of four hours, in seconds: with less, what a cut costs besides is not small for 64 workers.
_SYNC, _RENDER = 12.0, 14_400.0
_LONGEST = 1800.0


@dataclass(frozen=True)
class Point:
    """A still on K workers: seconds from when it was begun until it was done, and what the model says."""

    workers: int
    seconds: float
    model: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.model


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 where a still takes longer than the goal, or fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.split("\n")[0])
    parser.add_argument("--simulated", action="store_true", help="only the simulated still")
    parser.add_argument("--real", action="store_true", help="only the still on this machine")
    parser.add_argument("--scene", default="still", choices=scenes.names(), help="what is rendered (still)")
    parser.add_argument("--samples", type=int, default=192, metavar="N", help="samples a pixel (192)")
    parser.add_argument("--scale", type=int, default=50, metavar="PERCENT", help="size of the picture (50)")
    chosen = parser.parse_args(arguments)
    console = Console()
    points: list[Point] = []
    if not chosen.real:
        for uneven in (0.0, 0.5):
            title = "A simulated still of 4 h" + (", uneven" if uneven else ", of even cost")
            found = [simulated(workers, uneven) for workers in SIMULATED]
            console.print(_table(title, found))
            points += found
    if not chosen.simulated:
        console.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
        try:
            point = real(chosen.scene, chosen.samples, chosen.scale, console)
        except (ways.BenchmarkFailed, scenes.BuildFailed, OSError) as error:
            sys.stderr.write(f"{error}\n")
            return 1
        console.print(_table("For real, workers of one thread", [point]))
        points.append(point)
    return 0 if all(point.ratio <= GOAL for point in points) else 1


def simulated(workers: int, uneven: float) -> Point:
    """The still under our policy: all of it, with opening the scene on each worker and the finish."""
    still = Jobs(
        name="still", user="anna", load=5, sync=_SYNC, render=_RENDER, rest=2, finish=5, uneven=uneven,
        width=3840, height=2160,
    )  # fmt: skip
    trace = Trace(name="still", about="One still", jobs=(still,))
    _, measured = simulate(scenario(trace, 1, workers), "ours")
    spells = [spell for spell in measured.spells.values() if spell.key.kind is not TaskKind.INSPECT]
    end, _ = measured.ends["stillx1"]
    return Point(workers, end - min(spell.began for spell in spells), _SYNC + _RENDER / workers)


def real(scene: str, samples: int, scale: int, console: Console) -> Point:
    """A still on two workers of one thread each, warm, against what one of them told of it whole.

    Whole it is rendered on both at once, so that each measures a core whose neighbour is busy.
    """
    look = ("--device", "cpu", "--samples", str(samples), "--scale", str(scale))
    with tempfile.TemporaryDirectory(prefix="scaling-") as temporary:
        home = Path(temporary) / "home"
        file = scenes.build_file(scene, Path(temporary) / f"{scene}.blend")
        with ways.farm(home, workers=2), FarmClient(ways.url(home)) as client:
            alone = (*look, "--tiles", "none", "--max-workers", "1")
            _both(client, home, file, 1, "--device", "cpu", "--samples", "1", *alone[len(look) :])
            whole = _both(client, home, file, 2, *alone)
            sync = sum(attempt.seconds["sync"] for attempt in whole) / len(whole)
            render = sum(attempt.seconds["render"] for attempt in whole) / len(whole)
            console.print(f"Whole: sync {sync:.1f} s, render {render:.1f} s on one worker")
            shared = _done(client, ways.submit(home, file, "--frames", "3", *look), 3)
    pieces = [each for each in shared if TaskKey.parse(each.task).kind is TaskKind.TILE]
    console.print(f"Shared: {len(pieces)} pieces by {len({each.worker_id for each in pieces})} workers")
    for each in shared:
        spent = ", ".join(f"{name} {seconds:.1f}" for name, seconds in each.seconds.items() if seconds)
        console.print(f"  {each.words} on {each.worker_id}: {spent}")
    seconds = max(each.ended or 0.0 for each in shared) - min(each.started for each in shared)
    return Point(2, seconds, sync + render / 2)


def _both(client: FarmClient, home: Path, scene: Path, frame: int, *options: str) -> list[AttemptView]:
    """Two jobs of the same frame at once, one on each worker."""
    jobs = [ways.submit(home, scene, "--frames", str(frame), *options) for _ in range(2)]
    return [attempt for job in jobs for attempt in _done(client, job, frame)]


def _done(client: FarmClient, job_id: str, frame: int) -> list[AttemptView]:
    """The attempts of which a frame was made, once its job is done."""
    deadline = time.monotonic() + _LONGEST
    while (job := client.job(job_id)).state not in JOB_ENDED:
        if time.monotonic() > deadline:
            raise ways.BenchmarkFailed(f"Job {job_id} was not done after {_LONGEST:.0f} s")
        time.sleep(0.2)
    if job.state is not JobState.DONE:
        raise ways.BenchmarkFailed(f"Job {job_id} ended as {job.state}: {job.error}")
    attempts = client.provenance(job_id, frame).attempts
    return [attempt for attempt in attempts if attempt.state is AttemptState.DONE]


def _table(title: str, points: Sequence[Point]) -> Table:
    table = Table("K", "seconds", "sync + render / K", "ratio", "", title=title, box=None)
    for point in points:
        said = "" if point.ratio <= GOAL else f"more than {GOAL:.2f}"
        table.add_row(
            str(point.workers), f"{point.seconds:.1f}", f"{point.model:.1f}", f"{point.ratio:.3f}", said
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
