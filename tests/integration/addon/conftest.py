"""A Blender in a process of its own, with the add-on installed from its archive by Blender's own operator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from web.extension import build

#: A Python that has another Blender's library, to run these tests in that as well.
OTHER = "TESSERA_OTHER_BLENDER_PYTHON"
DRIVER = Path(__file__).with_name("driver.py")

#: Runs a function of `driver` in Blender, and gives what it returned.
type InBlender = Callable[..., object]


@pytest.fixture(scope="session", params=["own", "other"])
def interpreter(request: pytest.FixtureRequest) -> str:
    if request.param == "own":
        return sys.executable
    if OTHER not in os.environ:
        pytest.skip(f"no Python with another Blender is named ({OTHER})")
    return os.environ[OTHER]


@pytest.fixture
def in_blender(interpreter: str, tmp_path: Path) -> InBlender:
    archive, answer = tmp_path / build().name, tmp_path / "answer.json"
    archive.write_bytes(build().content)

    def run(name: str, **arguments: object) -> object:
        order = {"name": name, "arguments": arguments, "archive": str(archive), "answer": str(answer)}
        done = subprocess.run(
            [interpreter, str(DRIVER), json.dumps(order)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path / "blender")},
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return json.loads(answer.read_text())

    return run
