"""Render processes, and small scenes that bpy builds for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.blender.driver import RenderProcess
from workers.protocol import Open

BUILDER = Path(__file__).with_name("build_scene.py")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RenderProcess]]:
    """Start render processes; with a path, open it in them."""
    started: list[RenderProcess] = []

    def start(path: Path | None = None, **env: str) -> RenderProcess:
        child = RenderProcess(tmp_path / f"child-{len(started)}.log", env)
        started.append(child)
        if path is not None:
            child.done(Open(str(path)))
        return child

    yield start
    for child in started:
        child.close()


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Build a scene of `build_scene.py` in a process of its own; the same call gives the same file."""
    built: dict[str, Path] = {}

    def build(**options: Any) -> Path:
        key = repr(sorted(options.items()))
        if key not in built:
            path = tmp_path_factory.mktemp("scene") / "scene.blend"
            subprocess.run(
                [sys.executable, str(BUILDER), str(path), repr(options)], check=True, capture_output=True
            )
            built[key] = path
        return built[key]

    return build
