"""The main job through every room: a real farm, real Blender, real storage, the real command."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from farm.client.client import FarmClient
from farm.domain.states import JobState
from farm.embedded.stack import RunningFarm
from tests.e2e.driving import TINY, farm_command, part_pid, pixels, submit, until_ended, wait_for


def render_process(client: FarmClient, job_id: str, rendering: str) -> psutil.Process | None:
    """The Blender that is rendering a task whose key contains ``rendering``, once Cycles is at it."""
    for worker in client.farm().workers:
        attempt = worker.attempt
        if attempt is None or worker.job_id != job_id or rendering not in attempt.task:
            continue
        if attempt.progress is None or attempt.progress.phase != "rendering":
            continue
        for child in psutil.Process(worker.info.pid).children(recursive=True):
            if "workers.inside_blender" in child.cmdline() and "bwrap" not in child.name():
                return child
    return None


def test_a_frame_in_tiles_is_the_frame_whole(
    client: FarmClient, sample: Callable[[str], Path], tmp_path: Path
) -> None:
    whole = submit(client, sample("lens"), tiles="none", frames="1", **TINY)
    tiled = submit(client, sample("lens"), tiles="3x2", frames="1", **TINY)
    for job_id in (whole, tiled):
        assert until_ended(client, job_id).state is JobState.DONE
    assert np.array_equal(pixels(client, whole, 1, tmp_path), pixels(client, tiled, 1, tmp_path))
    assert client.frame(tiled, 1).outputs[0].name == client.frame(whole, 1).outputs[0].name
    assert all(tile.preview is None for tile in client.frame(tiled, 1).tiles), "pieces are deleted"


def test_a_render_process_killed_in_the_middle_of_a_tile_costs_one_attempt(
    client: FarmClient, sample: Callable[[str], Path], tmp_path: Path
) -> None:
    settings = {"frames": "1", "scale": 30, "samples": 256}
    job_id = submit(client, sample("lens"), tiles="2x1", **settings)
    victim = wait_for(lambda: render_process(client, job_id, "/tile-"))
    victim.kill()
    assert until_ended(client, job_id).state is JobState.DONE
    [failed] = client.attempts(job_id, failed=True)
    assert "/tile-" in failed.task
    assert "killed" in failed.what
    reference = submit(client, sample("lens"), tiles="none", **settings)
    until_ended(client, reference)
    assert np.array_equal(pixels(client, job_id, 1, tmp_path), pixels(client, reference, 1, tmp_path))


def test_a_dead_worker_is_replaced_and_the_job_goes_on(
    client: FarmClient, sample: Callable[[str], Path]
) -> None:
    job_id = submit(client, sample("turntable"), frames="1-6", scale=40, samples=128)
    victim = wait_for(lambda: render_process(client, job_id, "/whole"))
    worker = next(
        w.info for w in client.farm().workers if victim in psutil.Process(w.info.pid).children(recursive=True)
    )
    os.kill(worker.pid, signal.SIGKILL)
    assert until_ended(client, job_id).state is JobState.DONE
    lost = client.attempts(job_id, failed=True)
    assert [attempt.state for attempt in lost] == ["lost"]
    assert not victim.is_running() or victim.status() == psutil.STATUS_ZOMBIE
    wait_for(lambda: len(client.farm().workers) == 2)


def test_a_killed_dispatcher_loses_nothing_and_doubles_nothing(
    client: FarmClient, sample: Callable[[str], Path], farm_home: Path
) -> None:
    job_id = submit(client, sample("turntable"), frames="1-8", tiles="2x1", scale=20, samples=16)
    for done in (1, 4):
        wait_for(lambda done=done: client.job(job_id).frames.done >= done)
        os.kill(part_pid(farm_home, "dispatcher"), signal.SIGKILL)
    assert until_ended(client, job_id).state is JobState.DONE
    committed = [a.task for a in client.attempts(job_id, failed=False) if a.state == "done"]
    assert len(committed) == len(set(committed)) == 1 + 8 * 3
    assert [len(frame.outputs) for frame in client.frames(job_id)] == [1] * 8


def test_a_killed_web_process_and_a_killed_store_come_back_and_the_job_ends(
    client: FarmClient, sample: Callable[[str], Path], farm_home: Path, tmp_path: Path
) -> None:
    job_id = submit(client, sample("turntable"), frames="1-6", scale=20, samples=16)
    wait_for(lambda: client.job(job_id).frames.done >= 1)
    os.kill(part_pid(farm_home, "web"), signal.SIGKILL)
    os.kill(part_pid(farm_home, "storage"), signal.SIGKILL)
    assert until_ended(client, job_id).state is JobState.DONE
    for number in range(1, 7):
        assert pixels(client, job_id, number, tmp_path).shape[2] == 3


def test_cancelling_ends_the_render_within_two_seconds(
    client: FarmClient, sample: Callable[[str], Path]
) -> None:
    job_id = submit(client, sample("lens"), frames="1", tiles="none", scale=100, samples=4096)
    victim = wait_for(lambda: render_process(client, job_id, "/whole"))
    client.cancel(job_id)
    victim.wait(timeout=2)
    assert until_ended(client, job_id, 5).state is JobState.CANCELLED


def test_the_command_renders_delivers_and_says_so_in_json(
    running_farm: RunningFarm, sample: Callable[[str], Path], tmp_path: Path
) -> None:
    options = ("--frames", "1-3x2", "--scale", 20, "--samples", 4, "--out", tmp_path, "--json")
    done = farm_command("render", sample("turntable"), *options)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["state"], [frame["frame"] for frame in answer["frames"]]) == ("done", [1, 3])
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["turntable_0001.png", "turntable_0003.png"]
    for frame in answer["frames"]:
        [output] = frame["outputs"]
        assert Path(output["path"]).stat().st_size == output["bytes"]
    again = farm_command("render", sample("turntable"), *options)
    assert again.returncode == 1, "files that are there are not overwritten"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--frames", "1 10"], 2, "is not a frame range"),
        (["--frames", "5-1"], 2, "runs backwards"),
        (["--tiles", "2"], 2, "is not a tile grid"),
        (["--tiles", "9999x1"], 1, "finer than the picture"),
        (["--scene", "nope"], 1, "nope"),
        (["--camera", "nope"], 1, "nope"),
        (["--device", "optix"], 1, "OptiX"),
        (["--frames", "1", "--scale", "0"], 2, ""),
    ],
)
def test_what_cannot_be_rendered_is_one_sentence_and_a_cure(
    running_farm: RunningFarm,
    sample: Callable[[str], Path],
    tmp_path: Path,
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    done = farm_command("render", sample("turntable"), *arguments, "--out", tmp_path)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("file", "arguments", "code", "words"),
    [
        ("bat/corrupt_only_magic.blend", [], 1, "cut short or damaged"),
        ("bat/missing_textures.blend", [], 1, "has no camera"),
        ("gltfio/scenes/37_lamp_Workbench.blend", [], 1, "--engine cycles"),
        ("gltfio/scenes/28_sk_no_reset.blend", [], 1, "has no camera"),
        ("gltfio/scenes/02_suzanne.blend", ["--samples", "2"], 0, "not there"),
        (
            "golem/apps/blender/benchmark/test_task/bmw27_cpu.blend",
            ["--samples", "2", "--tiles", "2x2"],
            0,
            "",
        ),
        ("bat/subdir/image_sequence_dir_up.blend", [], 0, ""),
        ("clevr/base_scene.blend", ["--samples", "2"], 0, ""),
        ("bat/T55542-smoke/smoke_cache.blend", ["--engine", "cycles", "--frames", "2"], 1, "crashed"),
        ("rct2/rct2/scenery/MineTheming/Barrel1/tbr1.blend", ["--engine", "cycles", "--samples", "1"], 0, ""),
        ("multicam/per_camera_render_3_cameras.blend", ["--samples", "2"], 0, ""),
    ],
)
def test_scenes_of_other_people_render_or_say_why_not(
    running_farm: RunningFarm,
    corpus: Callable[[str], Path],
    tmp_path: Path,
    file: str,
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    frames = () if "--frames" in arguments else ("--frames", "1")
    done = farm_command("render", corpus(file), *frames, "--scale", "10", *arguments, "--out", tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    pictures = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert bool(pictures) == (code == 0)
