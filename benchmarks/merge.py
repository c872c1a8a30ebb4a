"""The merge compared with decoding and encoding the merged frame once.

``python -m benchmarks.merge`` makes up the pieces of an 8K frame, lets the imaging process merge them as a
worker does, and then reads and writes the merged file with the OpenEXR library alone, all of it at once.
`docs/benchmarks.md` tells the method.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import imaging, pictures
from farm.domain.tiles import Box, Size, TileGrid
from workers.protocol import MergeFrame, PieceFile

GOAL = 1.3
_COPY = Path(__file__).with_name("copy_exr.py")
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Found:
    """One way: seconds of reading and of writing, and the most memory it had, in bytes."""

    way: str
    read: float
    write: float
    wall: float
    memory: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 where something failed, not for a missed goal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merge", description="Measure the merge.")
    parser.add_argument("--width", type=int, default=7680, metavar="PIXELS")
    parser.add_argument("--height", type=int, default=4320, metavar="PIXELS")
    parser.add_argument("--tiles", default="8x8", metavar="GRID", help="columns x rows (8x8)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="take the best of N (1)")
    parser.add_argument("--folder", type=Path, help="where the files go for a while (the system's)")
    chosen = parser.parse_args(arguments)
    console, size = Console(), Size(chosen.width, chosen.height)
    console.print(f"{os.process_cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=chosen.folder) as temporary:
        room = Path(temporary)
        with console.status("making the pieces up"):
            pieces, channels = make_pieces(room, size, TileGrid.parse(chosen.tiles))
        raw = 4 * channels * size.width * size.height
        stored = sum(Path(piece.path).stat().st_size for piece in pieces)
        console.print(
            f"{size}, {len(pieces)} pieces, {channels} channels: {raw / _MIB:,.0f} MiB of float32, "
            f"{stored / _MIB:,.0f} MiB in the files ({stored / raw:.0%})"
        )
        try:
            ways = [(merge(pieces, size, room), copy(room)) for _ in range(chosen.repeat)]
        except (imaging.MergeFailed, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"{error}\n")
            return 1
    show(console, *(min(way, key=lambda found: found.wall) for way in zip(*ways, strict=True)), raw=raw)
    return 0


def make_pieces(room: Path, size: Size, grid: TileGrid) -> tuple[list[PieceFile], int]:
    """Write the pieces of a frame into ``room``; and how many channels they have."""
    pieces, channels = [], 0
    for tile in grid.tiles(size.box):
        box, path = _numbers(tile.core), room / f"piece-{tile.index}.exr"
        parts = pictures.made_up(box, tile.index)
        channels = sum(map(len, parts.values()))
        pictures.write(path, parts)
        pieces.append(PieceFile(str(path), box, box))
    return pieces, channels


def merge(pieces: list[PieceFile], size: Size, room: Path) -> Found:
    """The imaging process, spoken to as a worker does, from the request to its answer."""
    request = MergeFrame(pieces, size.width, size.height, str(room / "merged.exr"))
    answer, wall = imaging.merged(request)
    return Found("merge", answer.seconds["load"], answer.seconds["save"], wall, answer.peak_memory)


def copy(room: Path) -> Found:
    """Decode the merged file and encode it again, in a process of its own."""
    command = [sys.executable, "-P", str(_COPY), str(room / "merged.exr"), str(room / "copy.exr")]
    done = subprocess.run(
        [*command, str(os.process_cpu_count() or 1)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout.splitlines()[-1])
    return Found(
        "decode and encode once",
        said["read"],
        said["write"],
        said["read"] + said["write"],
        said["peak_memory"],
    )


def show(console: Console, merged: Found, copied: Found, *, raw: int) -> None:
    """Print both ways and whether the goal is met."""
    table = Table()
    table.add_column("way")
    for column in ("read s", "write s", "wall s", "peak memory MiB", "of the frame"):
        table.add_column(column, justify="right")
    for found in (merged, copied):
        numbers = (f"{each:.1f}" for each in (found.read, found.write, found.wall))
        table.add_row(found.way, *numbers, f"{found.memory / _MIB:,.0f}", f"{found.memory / raw:.2f}")
    console.print(table)
    ratio = merged.wall / copied.wall
    verdict = "met" if ratio <= GOAL else "MISSED"
    console.print(f"The merge took {ratio:.2f} times as long; goal: at most {GOAL}: {verdict}")


def _numbers(box: Box) -> list[int]:
    return [box.x, box.y, box.width, box.height]


if __name__ == "__main__":
    sys.exit(main())
