from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from farm.domain.tiles import Box, Size, TileGrid
from workers.protocol import Beat, Count, Done, Failed, PieceFile, Ready, decode, encode

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FRAME = Size(161, 91)
CUTS = [("2x2", 0), ("2x2", 8), ("3x2", 0), ("3x2", 8)]
SAMPLES = 4
RANGES = [(0, 2), (2, 2)]  # a range of one sample makes 5.2.3 crash where there are several layers


def numbers(box: Box) -> list[int]:
    return list(dataclasses.astuple(box))


def clean_environment() -> dict[str, str]:
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
    return {**kept, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(ROOT), "FARM_PARENT_PID": str(os.getpid())}


def run_bpy(script: str, *arguments: str) -> str:
    """Run one of this folder's scripts in a Blender of its own; what it printed comes back."""
    done = subprocess.run(
        [sys.executable, "-P", str(HERE / script), *arguments],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def render(
    folder: Path, frame: Size, pieces: dict[str, Box], ranges: dict[str, tuple[int, int]] | None = None
) -> Path:
    """Render the scene of render_pieces.py whole and in pieces, by path; the whole's path comes back.

    ``ranges`` are first sample and count of pieces of the whole frame.
    """
    whole, order = folder / "whole.exr", folder / "order.json"
    borders = [
        {"path": path, "border": list(dataclasses.astuple(box.border(frame)))} for path, box in pieces.items()
    ]
    samples = [{"path": path, "samples": each} for path, each in (ranges or {}).items()]
    size = {"width": frame.width, "height": frame.height}
    order.write_text(json.dumps({**size, "whole": str(whole), "pieces": borders, "ranges": samples}))
    run_bpy("render_pieces.py", str(order))
    return whole


@dataclass(frozen=True)
class Renders:
    """A real frame, whole and in the pieces of each cut, as Blender wrote them."""

    whole: Path
    pieces: dict[tuple[str, int], list[PieceFile]]
    ranges: list[PieceFile]


@pytest.fixture(scope="session")
def renders(tmp_path_factory: pytest.TempPathFactory) -> Renders:
    folder = tmp_path_factory.mktemp("renders")
    pieces: dict[tuple[str, int], list[PieceFile]] = {}
    boxes: dict[str, Box] = {}
    for grid, overlap in CUTS:
        for tile in TileGrid.parse(grid).tiles(FRAME.box, overlap):
            path = str(folder / f"{grid}-{overlap}-{tile.index}.exr")
            boxes[path] = tile.rendered
            piece = PieceFile(path, numbers(tile.rendered), numbers(tile.core))
            pieces.setdefault((grid, overlap), []).append(piece)
    ranges = {str(folder / f"from-{first}.exr"): (first, count) for first, count in RANGES}
    whole = numbers(FRAME.box)
    parts = [PieceFile(path, whole, whole, [*samples, SAMPLES, 0]) for path, samples in ranges.items()]
    return Renders(render(folder, FRAME, boxes, ranges), pieces, parts)


class Imaging:
    """The imaging process, spoken to over its pipes as a worker does."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "workers.imaging"],
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.beats: list[Beat] = []
        self.counts: list[Count] = []
        ready = self.read()
        assert isinstance(ready, Ready)
        self.ready = ready

    def read(self) -> Any:
        assert self.process.stdout is not None
        return decode(self.process.stdout.readline())

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def ask(self, request: Any) -> Done | Failed:
        """Send a request; its answer, with the beats and counts that came before it kept aside."""
        self.counts = []
        self.send(encode(request))
        while True:
            message = self.read()
            if isinstance(message, Done | Failed):
                return message
            (self.beats if isinstance(message, Beat) else self.counts).append(message)

    def close(self) -> int:
        """End its input; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=20)


@pytest.fixture
def imaging() -> Iterator[Imaging]:
    child = Imaging()
    yield child
    child.close()
    assert child.process.stdout is not None
    child.process.stdout.close()
