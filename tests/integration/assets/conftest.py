"""Scenes that are built, packed, laid out as on a worker, and opened there without their first home."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from farm.assets.pack import Packed
from farm.domain import keys
from farm.storage.memory import MemoryStorage
from workers import scene_folder
from workers.blob_cache import BlobCache

HERE = Path(__file__).parent
ROOM = 1 << 30  # bytes


def blender(script: Path | str, *arguments: object) -> str:
    """What a script says that runs in a Blender of its own; a name is one of this folder."""
    command = [sys.executable, "-P", str(HERE / script), *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=HERE.parents[2], timeout=300, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def built(folder: Path, code: str) -> None:
    """Run ``code`` in an empty file of a Blender of its own; see `build_by_code` for what it has at hand."""
    folder.mkdir(parents=True, exist_ok=True)
    blender("build_by_code.py", folder, textwrap.dedent(code))


@dataclass(frozen=True)
class Opened:
    """What Blender told of a scene: see `open_scene.told`."""

    told: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        return self.told[name]


def opened(blend: Path, *pictures: Path) -> Opened:
    lines = blender("open_scene.py", blend, *pictures).splitlines()
    return Opened(json.loads(next(line for line in reversed(lines) if line.startswith("{"))))


@contextlib.contextmanager
def away(folder: Path) -> Iterator[None]:
    """The folder is not there meanwhile."""
    hidden = folder.with_name(folder.name + " is away")
    folder.rename(hidden)
    try:
        yield
    finally:
        hidden.rename(folder)


@pytest.fixture
def laid_out(tmp_path: Path) -> Iterator[Callable[[Packed], Path]]:
    """Send a packed scene and lay it out as a worker does; gives the .blend to open."""
    folders: list[Path] = []

    def laid_out(packed: Packed) -> Path:
        storage = MemoryStorage()
        for name, blob in packed.manifest.files.items():
            storage.put_file(keys.blob(blob.sha256), packed.elsewhere.get(name, packed.root / name))
        folder = tmp_path / f"worker {len(folders)}" / "scene"
        cache = BlobCache(folder.parent / "cache", storage, ROOM)
        scene_folder.lay_out(packed.manifest, folder, cache, threading.Event())
        folders.append(folder)
        return folder / packed.manifest.main

    yield laid_out
    for folder in folders:
        scene_folder.remove(folder)
