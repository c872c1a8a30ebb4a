"""Rendering compared: a plain Blender loop, a process per frame, a hand-tuned loop, a warm farm.

``python -m benchmarks.render`` measures a light scene and a sync-heavy one on this machine, one way
after the other, and prints wall seconds and ratios. `docs/benchmarks.md` tells the method.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import scenes
from benchmarks import ways
from benchmarks.report import Report, same_pictures

SCENES = ("turntable", "forest")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 where something failed or the pictures differ, not for a missed goal."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure the farm on this machine."
    )
    parser.add_argument(
        "--frames", type=int, default=24, metavar="N", help="frames of each scene, 1 to 24 (24)"
    )
    parser.add_argument("--quick", action="store_true", help="4 frames: shows that it works, not how fast")
    parser.add_argument("--scene", choices=SCENES, action="append", help="only this scene")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    chosen = parser.parse_args(arguments)
    frames = min(chosen.frames, 4) if chosen.quick else chosen.frames
    if not 1 <= frames <= 24:
        parser.error(f"--frames {frames}: the scenes have frames 1 to 24")
    console = Console()
    load = os.getloadavg()[0]
    console.print(f"{os.cpu_count()} cores, {platform.machine()}, load {load:.1f} before the start")
    if load > 0.5:
        console.print("Something else runs on this machine: the times will tell about that too.")
    try:
        reports = [measure(name, frames, console) for name in chosen.scene or SCENES]
    except (ways.BenchmarkFailed, scenes.BuildFailed, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if chosen.json:
        machine = {"cores": os.cpu_count(), "machine": platform.machine(), "load": load}
        found = {"machine": machine, "scenes": [report.plain_data() for report in reports]}
        chosen.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0 if all(report.same_pictures for report in reports) else 1


def measure(name: str, frames: int, console: Console) -> Report:
    """Build scene ``name``, render its first ``frames`` frames each way, and show what was found."""
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        room = Path(temporary)
        scene = scenes.build_file(name, room / f"{name}.blend")
        with console.status(f"{name}: plain loop"):
            plain = ways.loop(scene, room / "plain", frames, keep=False)
        with console.status(f"{name}: process per frame"):
            apart = ways.process_per_frame(scene, room / "apart", frames)
        with console.status(f"{name}: hand-tuned loop"):
            tuned = ways.loop(scene, room / "tuned", frames, keep=True)
        with console.status(f"{name}: farm"), ways.farm(room / "home") as start:
            cold = ways.farm_render("farm, first render", room / "home", scene, room / "cold", frames)
            warm = ways.farm_render("farm, warm", room / "home", scene, room / "warm", frames)
        same = same_pictures(plain.pictures, warm.pictures)
        report = Report(name, frames, plain, apart, tuned, cold, warm, start, same)
        console.print(report.shown())
    return report


if __name__ == "__main__":
    sys.exit(main())
