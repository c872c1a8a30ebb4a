"""The loop: answers, beats, faults, and what ends a render process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.blender.driver import RenderProcess, gone, look
from workers.protocol import Beat, Count, Inspect, Look, Open, RenderFrame, RenderTile, Shrink

Start = Callable[..., RenderProcess]
Build = Callable[..., Path]
SMALL = {"width": 32, "height": 18, "samples": 1, "objects": 1}
LONG = {"samples": 1 << 20}  # hours


def test_the_first_message_tells_what_the_process_is(start: Start) -> None:
    ready = start().ready
    assert (ready.program, ready.version) == ("blender", "5.2.3")
    assert ready.build == "e13b728c6880"
    assert ready.devices[-1]["type"] == "CPU"
    assert ready.devices[-1]["name"]


def test_the_kernel_variant_follows_cycles_own_switch(start: Start) -> None:
    assert start(None, CYCLES_CPU_NO_AVX2="1").ready.kernel == "sse42"


def test_requests_out_of_place_are_answered_and_the_process_goes_on(
    start: Start, build: Build, tmp_path: Path
) -> None:
    child = start()
    assert child.failed(Inspect()).what == "No scene is open."
    scene = build(**SMALL)
    child.done(Open(str(scene)))
    assert "already has a scene" in child.failed(Open(str(scene))).what
    assert child.failed(Shrink("a", "b", 3)).cause == "internal"
    assert child.done(Inspect()).report is not None


def test_a_device_that_is_not_there_is_a_failure_and_never_the_cpu(
    start: Start, build: Build, tmp_path: Path
) -> None:
    child = start(build(**SMALL))
    if any(device["type"] == "HIP" for device in child.ready.devices):
        pytest.skip("this machine has a HIP device")
    for name in ("HIP", "NONSENSE"):
        asked = Look(frame=3, device=name)
        failed = child.failed(RenderFrame(asked, str(tmp_path / "out"), str(tmp_path / "p.jpg")))
        assert failed.cause == "no-device"
        assert "CPU" in failed.what
        assert failed.cure
    assert list((tmp_path).glob("out/*")) == []


def test_no_camera_and_another_engine_fail_with_a_cure(start: Start, build: Build, tmp_path: Path) -> None:
    for options, words in (
        ({"camera": False}, "no camera"),
        ({"extra": "scene.render.engine = 'BLENDER_WORKBENCH'"}, "not Cycles"),
    ):
        child = start(build(**options, **SMALL))
        failed = child.failed(RenderFrame(look(), str(tmp_path / "out"), str(tmp_path / "p.jpg")))
        assert failed.cause == "bad-scene"
        assert words in failed.what
        assert failed.cure


def test_a_frame_below_zero_is_rendered_by_its_number(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build(**SMALL))
    done = child.done(RenderFrame(look(-4), str(tmp_path / "out"), str(tmp_path / "p.jpg")))
    assert done.outputs == ["shot_-0004.png"]


def test_a_line_that_is_no_message_ends_the_process(start: Start) -> None:
    child = start()
    assert child.child.stdin is not None
    child.child.stdin.write(b'{"kind": "Explode"}\n')
    child.child.stdin.flush()
    assert child.child.wait(20) == 2


def test_the_end_of_its_input_ends_the_process(start: Start) -> None:
    child = start()
    assert child.child.stdin is not None
    child.child.stdin.close()
    assert child.child.wait(20) == 0


def rendering(child: RenderProcess, tmp_path: Path) -> None:
    """Send a tile that takes hours, and wait until Cycles renders."""
    border = [0.0, 1.0, 0.0, 1.0]
    child.send(RenderTile(look(), border, 161, 91, str(tmp_path / "a.exr"), str(tmp_path / "a.jpg")))
    while True:
        message = child.receive()
        if isinstance(message, Count) and message.phase == "rendering":
            return


def test_the_end_of_its_input_ends_the_process_in_the_middle_of_a_render(
    start: Start, build: Build, tmp_path: Path
) -> None:
    child = start(build(**LONG))
    rendering(child, tmp_path)
    assert child.child.stdin is not None
    child.child.stdin.close()
    assert child.child.wait(20) == 0


def test_the_heart_beats_while_cycles_renders(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build(**LONG))
    rendering(child, tmp_path)
    beats: list[int] = []
    while len(beats) < 2:
        message = child.receive()
        if isinstance(message, Beat):
            beats.append(message.peak_memory)
    assert min(beats) > 50 * 1024 * 1024


PARENT = """
import os, subprocess, sys, time
from workers.protocol import Look, Open, RenderTile, encode, decode
child = subprocess.Popen([sys.executable, "-P", "-m", "workers.inside_blender"], stdin=subprocess.PIPE,
    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    env={**os.environ, "FARM_PARENT_PID": str(os.getpid())})
os.set_inheritable(child.stdin.fileno(), True)
holder = subprocess.Popen(["sleep", "60"], pass_fds=[child.stdin.fileno()], stdout=subprocess.DEVNULL)
look = Look(frame=1, device="CPU")
child.stdin.write(encode(Open(sys.argv[1])))
child.stdin.write(encode(RenderTile(look, [0.0, 1.0, 0.0, 1.0], 161, 91, sys.argv[2], sys.argv[2] + ".jpg")))
child.stdin.flush()
for line in child.stdout:
    if getattr(decode(line), "phase", "") == "rendering":
        print(child.pid, holder.pid, flush=True)
        time.sleep(3600)
"""


def test_a_killed_parent_leaves_no_render_behind_though_the_pipe_stays_open(
    build: Build, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", PARENT, str(build(**LONG)), str(tmp_path / "a.exr")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child, holder = map(int, parent.stdout.readline().split())
        try:
            parent.kill()
            parent.wait()
            assert gone(child)
        finally:
            os.kill(holder, signal.SIGKILL)


def test_a_child_that_starts_after_its_parent_went_ends_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "workers.inside_blender"],
        env={**os.environ, "FARM_PARENT_PID": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.wait(20) == 3
