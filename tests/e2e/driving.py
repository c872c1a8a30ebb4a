"""What tests do with the running farm, by its client and by its command."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from farm.assets.pack import pack
from farm.client.client import FarmClient
from farm.domain.job import JobSpec, RenderSettings
from farm.domain.states import JOB_ENDED
from farm.domain.views import JobView
from farm.domain.work import Role
from farm.embedded import state
from farm.embedded.home import Home

#: Small and quick, yet with depth of field and motion blur.
TINY = {"scale": 25, "samples": 8}


def submit(client: FarmClient, scene: Path, **settings: object) -> str:
    packed = pack(scene)
    reference = client.upload_scene(packed.manifest, packed.root)
    spec = JobSpec(
        name=scene.stem, scene_id=reference.scene_id, settings=RenderSettings.model_validate(settings)
    )
    return client.submit(spec).id


def until_ended(client: FarmClient, job_id: str, seconds: float = 120) -> JobView:
    deadline = time.monotonic() + seconds
    while (job := client.job(job_id)).state not in JOB_ENDED:
        assert time.monotonic() < deadline, f"job {job_id} is still {job.state}"
        time.sleep(0.1)
    return job


def pixels(client: FarmClient, job_id: str, frame: int, folder: Path) -> np.ndarray:
    """uint8, (height, width, channels), top row first: the frame's one picture."""
    view = client.frame(job_id, frame)
    [output] = [output for output in view.outputs if output.role is Role.OUTPUT]
    path = folder / f"{job_id}-{output.name}"
    client.download(output, path)
    return np.asarray(Image.open(path))


def farm_command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "farm.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **environment},
        check=False,
    )


def part_pid(home: Path, name: str) -> int:
    """The process of one of the farm's parts."""
    found = state.read(Home(home).state)
    assert found is not None
    [pid] = [part.pid for part in found.parts if part.name == name]
    assert pid is not None
    return pid


def wait_for[T](what: Callable[[], T | None], seconds: float = 60) -> T:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found
