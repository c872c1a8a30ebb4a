"""The reference process, and a render process to hold against it, spoken to as a worker does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.integration.blender.conftest import build
from workers import runtimes
from workers.children import Child
from workers.launch import Folders, launch
from workers.logs import AttemptLog
from workers.protocol import Open
from workers.vigil import Patience

__all__ = ["build"]

Start = Callable[..., Awaitable[Child]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Start a child program, with a scene open where one is given."""
    started: list[Child] = []
    logs: list[AttemptLog] = []

    async def start(module: str = "workers.reference", scene: Path | None = None) -> Child:
        scratch = tmp_path / f"child-{len(started)}"
        folders = Folders(scratch, tmp_path / "cache")
        how = launch("Blender", runtimes.own(), module, folders, sandbox=False)
        logs.append(AttemptLog(tmp_path / f"log-{len(logs)}.txt"))
        child = await Child.start(how, logs[-1], Patience())
        started.append(child)
        if scene is not None:
            await child.ask(Open(str(scene)))
        return child

    yield start
    for child in started:
        await child.kill()
    for log in logs:
        log.finish()
