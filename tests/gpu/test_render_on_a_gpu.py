"""What only a GPU can show: that the farm finds it, renders on it, and says which one it was.

Run with ``tests/gpu/run`` on a machine with an NVIDIA GPU; skipped elsewhere.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import scenes
from farm.client.client import FarmClient
from farm.embedded import stack
from farm.embedded.stack import RunningFarm
from farm.settings import Settings

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(1800),  # kernels that the wheel does not carry are compiled at first use
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no NVIDIA driver here (no nvidia-smi)"),
]

#: Cycles adds up a GPU's samples in no fixed order, so two renders differ in their last bits; of 255.
TOLERANCE = 2


@pytest.fixture(scope="module")
def gpu_farm() -> Iterator[RunningFarm]:
    """A farm with one worker a GPU."""
    home = Path(tempfile.mkdtemp(prefix="tessera-gpu-"))
    try:
        yield stack.start(Settings(home=home))
    finally:
        stack.stop(home)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scenes.build_file("turntable", tmp_path_factory.mktemp("scenes") / "turntable.blend")


def render(farm: RunningFarm, scene: Path, out: Path, *options: str) -> tuple[str, np.ndarray]:
    """The job's id and its one picture, uint8 (height, width, channels)."""
    command = [sys.executable, "-P", "-m", "farm.cli", "render", str(scene), "--farm", farm.url]
    shared = ["--frames", "1", "--device", "optix", "--json", "--out", str(out)]
    done = subprocess.run([*command, *shared, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    [output] = answer["frames"][0]["outputs"]
    return answer["job"], np.asarray(Image.open(output["path"])).astype(int)


def test_every_worker_names_its_gpu(gpu_farm: RunningFarm) -> None:
    with FarmClient(gpu_farm.url) as client:
        workers = client.farm().workers
    assert workers
    for worker in workers:
        assert worker.info.device == "OPTIX"
        assert worker.info.render_class.device == "OPTIX"
        assert worker.info.device_name


def test_tiles_on_a_gpu_make_the_whole_frame_within_the_stated_tolerance(
    gpu_farm: RunningFarm, scene: Path, tmp_path: Path
) -> None:
    _, whole = render(gpu_farm, scene, tmp_path / "whole", "--tiles", "none")
    _, tiled = render(gpu_farm, scene, tmp_path / "tiled", "--tiles", "2x2")
    assert whole.shape == tiled.shape
    assert np.abs(whole - tiled).max() <= TOLERANCE
