"""A whole farm for the session: real storage, Ray, dispatcher, page and workers on the CPU."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import scenes
from farm.client.client import FarmClient
from farm.embedded import stack
from farm.embedded.stack import RunningFarm
from farm.settings import Settings

#: What a farm writes; shown where one could not be started, or a test asks.
LOGS = ("farm.log", "storage.log", "ray.log", "dispatcher.log", "web.log")


@pytest.fixture(scope="session")
def farm_home() -> Iterator[Path]:
    """A farm's home of its own, in a folder with a space and a letter outside of ASCII."""
    folder = Path(tempfile.mkdtemp(prefix="tessera é "))
    before = os.environ.get("FARM_HOME")
    os.environ["FARM_HOME"] = str(folder)
    try:
        yield folder
    finally:
        stack.stop(folder)
        if before is None:
            del os.environ["FARM_HOME"]
        else:
            os.environ["FARM_HOME"] = before
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def running_farm(farm_home: Path) -> RunningFarm:
    """The farm, ready, with two workers on the CPU; `FARM_HOME` names it for programs started by tests."""
    return stack.start(Settings(home=farm_home), workers=2)


@pytest.fixture
def farm_logs(farm_home: Path) -> Callable[[], str]:
    """The ends of the farm's logs, for a test's message."""

    def read() -> str:
        return "\n".join(
            f"== {name}\n{(farm_home / 'logs' / name).read_text(errors='replace')[-3000:]}"
            for name in LOGS
            if (farm_home / "logs" / name).exists()
        )

    return read


@pytest.fixture
def client(running_farm: RunningFarm) -> Iterator[FarmClient]:
    with FarmClient(running_farm.url) as client:
        yield client


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a sample scene, built once."""
    folder = tmp_path_factory.mktemp("scenes")
    return cache(lambda name: scenes.build_file(name, folder / f"{name}.blend"))
