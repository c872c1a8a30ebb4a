"""Render processes, and small scenes that bpy builds for them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.blender.driver import RenderProcess
from workers.protocol import Open

BUILDER = Path(__file__).with_name("build_scene.py")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], RenderProcess]]:
    """The render process of a scene, for the whole module: tests of one file share it."""
    with contextlib.ExitStack() as stack:
        processes: dict[Path, RenderProcess] = {}

        def opened(path: Path) -> RenderProcess:
            if path not in processes:
                log = tmp_path_factory.mktemp("child") / "log.txt"
                processes[path] = stack.enter_context(RenderProcess(log))
                processes[path].done(Open(str(path)))
            return processes[path]

        yield opened


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
def build(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Path]]:
    """Build a scene of `build_scene.py`; the same options give the same file."""
    built: dict[str, Path] = {}
    with (
        (tmp_path_factory.getbasetemp() / "builder.log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, str(BUILDER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as builder,
    ):
        assert builder.stdin is not None
        assert builder.stdout is not None
        stdin, stdout = builder.stdin, builder.stdout

        def build(**options: Any) -> Path:
            key = repr(sorted(options.items()))
            if key not in built:
                path = tmp_path_factory.mktemp("scene") / "scene.blend"
                stdin.write(repr((str(path), options)) + "\n")
                stdin.flush()
                wanted = f"built {path}\n"
                assert any(line == wanted for line in iter(stdout.readline, "")), f"no scene of {options}"
                built[key] = path
            return built[key]

        yield build
        builder.kill()
