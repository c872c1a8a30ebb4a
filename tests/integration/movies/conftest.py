"""Scenes that ask for movies, their frames as the farm renders them, and Blender's own movies of them."""

from __future__ import annotations

import math
import subprocess
import sys
import wave
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.blender.conftest import build, start
from tests.integration.workers.conftest import bench, make_bench, own_processes, storage

__all__ = ["bench", "build", "make_bench", "own_processes", "start", "storage"]

DIRECT = Path(__file__).with_name("direct.py")


@pytest.fixture(scope="session")
def tone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second of a falling tone, 48 kHz, 16 bit, one channel."""
    path = tmp_path_factory.mktemp("sound") / "tone.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        samples = (int(20_000 * math.sin(at * 0.05) * (1 - at / 48_000)) for at in range(48_000))
        file.writeframes(array("h", samples).tobytes())
    return path


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Path]]:
    """The folder of Blender's own movies of a scene's frames; its process knows nothing of the farm."""
    log_path = tmp_path_factory.mktemp("direct") / "log.txt"
    with (
        log_path.open("wb") as log,
        subprocess.Popen(
            [sys.executable, str(DIRECT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def direct(blend: Path, scene: str, first: int, last: int, **settings: Any) -> Path:
            out = tmp_path_factory.mktemp("movie")
            stdin.write(repr((str(blend), scene, f"{out}/", first, last, settings)) + "\n")
            stdin.flush()
            answer = next((line for line in iter(stdout.readline, "") if line.startswith("rendered ")), "")
            assert answer == f"rendered {scene}\n", f"{answer}; log: {log_path.read_text()[-3000:]}"
            return out

        yield direct
        process.kill()
