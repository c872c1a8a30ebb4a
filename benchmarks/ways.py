"""The ways to render the same frames that are compared. Every one runs on the CPU.

All times are wall seconds of whole commands, from their start to their end, with the start of Python
and Blender in them, because that is what somebody waits for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOOP = Path(__file__).with_name("blender_loop.py")


class BenchmarkFailed(RuntimeError):
    """A command that was to be measured failed; the message ends with what it said."""


@dataclass(frozen=True)
class Timing:
    """How long one way took. ``frames`` are the seconds of each frame, as the way itself tells them."""

    way: str
    wall: float
    frames: tuple[float, ...]
    pictures: Path

    @property
    def first(self) -> float:
        """Seconds of the first frame."""
        return self.frames[0]

    @property
    def later(self) -> float:
        """Median seconds of the frames after the first; of the only one where there is but one."""
        rest = sorted(self.frames[1:] or self.frames)
        return (rest[(len(rest) - 1) // 2] + rest[len(rest) // 2]) / 2


def loop(scene: Path, out: Path, frames: int, *, keep: bool) -> Timing:
    """One Blender process for all frames; ``keep`` turns persistent data on."""
    started = time.perf_counter()
    said = _blender(scene, out, 1, frames, "keep" if keep else "fresh")
    way = "hand-tuned loop" if keep else "plain loop"
    return Timing(way, time.perf_counter() - started, tuple(said["frames"]), out)


def process_per_frame(scene: Path, out: Path, frames: int) -> Timing:
    """A Blender process for each frame."""
    each = []
    for frame in range(1, frames + 1):
        started = time.perf_counter()
        _blender(scene, out, frame, frame, "fresh")
        each.append(time.perf_counter() - started)
    return Timing("process per frame", sum(each), tuple(each), out)


@contextmanager
def farm(home: Path, workers: int = 1) -> Iterator[float]:
    """A farm with its workers in ``home``; gives the seconds that its start took, and ends it after."""
    started = time.perf_counter()
    try:
        _farm(home, "up", "--workers", str(workers), "--json")
        yield time.perf_counter() - started
    finally:
        _farm(home, "down", "--json")


def url(home: Path) -> str:
    """Where the farm in ``home`` listens."""
    return str(_farm(home, "status", "--json")["url"])


def submit(home: Path, scene: Path, *options: str) -> str:
    """`farm submit` on the farm in ``home``; gives the job's id."""
    return str(_farm(home, "submit", str(scene), *options, "--json")["job"])


def farm_render(way: str, home: Path, scene: Path, out: Path, frames: int) -> Timing:
    """`farm render` on the farm in ``home``, from the call to its end with all pictures here."""
    started = time.perf_counter()
    call = ("render", str(scene), "--frames", f"1-{frames}", "--device", "cpu", "--out", str(out), "--json")
    done = _farm(home, *call)
    wall = time.perf_counter() - started
    if done.get("state") != "done" or len(done["frames"]) != frames:
        raise BenchmarkFailed(f"farm render ended as {done.get('state')}: {json.dumps(done)[:2000]}")
    return Timing(way, wall, tuple(float(frame["seconds"]) for frame in done["frames"]), out)


def _blender(scene: Path, out: Path, first: int, last: int, memory: str) -> dict[str, Any]:
    return _run([sys.executable, "-P", str(_LOOP), str(scene), str(out), str(first), str(last), memory])


def _farm(home: Path, *call: str) -> dict[str, Any]:
    # Nothing of a farm that the caller may have set up: this one is measured alone.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FARM_")}
    return _run([sys.executable, "-P", "-m", "farm.cli", *call], clean | {"FARM_HOME": str(home)})


def _run(command: list[str], environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run ``command`` and read the JSON on the last line of its stdout, or all of its stdout."""
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=environment, check=False
    )
    said = done.stdout.strip()
    if done.returncode != 0:
        raise BenchmarkFailed(
            f"“{' '.join(command[3:])}” ended with exit code {done.returncode}:\n"
            f"{said[-1000:]}\n{done.stderr.strip()[-2000:]}"
        )
    for text in (said, said.splitlines()[-1] if said else ""):
        try:
            value: dict[str, Any] = json.loads(text)
        except ValueError:
            continue
        return value
    raise BenchmarkFailed(f"“{' '.join(command[3:])}” printed no JSON: {said[-1000:]!r}")
