"""The add-on in a real Blender, installed from the farm's own repository, on a real farm."""

from __future__ import annotations

import hashlib
import json
import os
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
from farm.domain.states import JobState
from farm.embedded.stack import RunningFarm
from infra.build_addon import blender_tool
from tests.integration.addon.conftest import interpreter

__all__ = ["interpreter"]  # a fixture of the other tests of the add-on: this Blender, and another

ARTIST = Path(__file__).with_name("artist.py")


@pytest.fixture(scope="session")
def blender_home(running_farm: RunningFarm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Blender's own settings, with the add-on installed by Blender's tool from the farm's page."""
    home = tmp_path_factory.mktemp("blender")
    repository = home / "extensions" / "user_default"
    url = f"{running_farm.url}/extensions/index.json"
    common = [f"--local-dir={repository}", f"--remote-url={url}", "--online-user-agent=Blender/5.2"]
    for command in (["sync", *common, f"--remote-name={url}"], ["install", *common, "tessera"]):
        done = subprocess.run(
            [sys.executable, str(blender_tool()), *command], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (repository / "tessera" / "blender_manifest.toml").is_file()
    return home


def artist(home: Path, python: str = sys.executable, **order: object) -> dict[str, object]:
    """What `artist.py` tells after it submitted as ``order`` says."""
    answer = home / "answer.json"
    answer.unlink(missing_ok=True)
    done = subprocess.run(
        [python, str(ARTIST), json.dumps({**order, "answer": str(answer)})],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "BLENDER_USER_RESOURCES": str(home)},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    told: dict[str, object] = json.loads(answer.read_text())
    return told


def test_unsaved_changes_are_rendered_and_nothing_of_the_artist_s_is_touched(
    running_farm: RunningFarm, blender_home: Path, tmp_path: Path
) -> None:
    blend = scenes.build_file("turntable", tmp_path / "turntable.blend")
    on_disk = hashlib.sha256(blend.read_bytes()).hexdigest()
    beside = {path.name for path in tmp_path.iterdir()}
    told = artist(
        blender_home,
        farm=running_farm.url,
        blend=str(blend),
        width=48,
        height=32,
        frames="1-2",
        samples=4,
        results=str(tmp_path / "renders"),
    )
    assert told["phase"] == "Done", told
    assert hashlib.sha256(blend.read_bytes()).hexdigest() == on_disk
    assert {path.name for path in tmp_path.iterdir()} == beside | {"renders"}
    assert told["dirty"] == [True, True]
    assert told["undo"][0] == told["undo"][1]
    assert told["paths"][0] == told["paths"][1]
    assert told["filepath"] == str(blend)
    assert told["scratch"] == []
    with FarmClient(running_farm.url) as client:
        job = client.job(str(told["job"]))
        assert job.state is JobState.DONE
        assert job.report is not None
        # The size was changed and not saved: only the copy can have carried it here.
        assert (job.report.full_width, job.report.full_height) == (48, 32)
        outputs = [output for frame in client.frames(job.id) for output in frame.outputs]
    folder = tmp_path / "renders" / f"turntable {job.id}"
    brought = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    assert brought == {output.name: output.sha256 for output in outputs if output.role == "output"}
    assert len(brought) == 2
    assert [Path(picture).parent for picture in told["pictures"]] == [folder, folder]
    assert told["opened"] == told["pictures"][-1:]
    assert told["listed"] == 0


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that shares none with the tests' own: another drive, to an artist."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tessera é ") as folder:
        yield Path(folder)


def test_a_file_that_was_never_saved_takes_its_textures_along_from_wherever_they_lie(
    running_farm: RunningFarm, blender_home: Path, tmp_path: Path, elsewhere: Path, interpreter: str
) -> None:
    texture = elsewhere / "grün.png"
    Image.new("RGB", (8, 4), (0, 255, 0)).save(texture)
    told = artist(
        blender_home,
        interpreter,
        farm=running_farm.url,
        blend="",
        texture=str(texture),
        width=16,
        height=16,
        frames="1",
        samples=1,
        results=str(tmp_path),
    )
    assert told["phase"] == "Done", told
    assert [finding for finding in told["findings"] if finding[0] != "note"] == []
    [picture] = told["pictures"]
    assert Path(picture).parent.name == f"Untitled {told['job']}"
    pixels = np.asarray(Image.open(picture).convert("RGB")).astype(int)
    assert np.abs(pixels - (0, 255, 0)).max() <= 2  # dithered; a picture that is missing shows as magenta
    assert told["filepath"] == ""


def test_a_cancelled_job_keeps_the_frames_that_are_there(
    running_farm: RunningFarm, blender_home: Path, tmp_path: Path
) -> None:
    told = artist(
        blender_home,
        farm=running_farm.url,
        blend=str(scenes.build_file("turntable", tmp_path / "turntable.blend")),
        width=48,
        height=32,
        frames="1-500",
        samples=4,
        results=str(tmp_path / "renders"),
        cancel=1,
    )
    assert told["phase"] == "Cancelled", told
    with FarmClient(running_farm.url) as client:
        job = client.job(str(told["job"]))
        assert job.state is JobState.CANCELLED
        assert 1 <= job.frames.done < 500
    assert len(told["pictures"]) == job.frames.done
