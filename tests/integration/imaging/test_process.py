"""The imaging process as its worker meets it: first word, beats, bad lines, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from PIL import Image

from tests.integration.imaging.conftest import Imaging, clean_environment
from workers.protocol import Beat, Done, Failed, Open, Shrink, decode


def test_it_says_first_what_it_is(imaging: Imaging) -> None:
    assert imaging.ready.program == "imaging"
    assert imaging.ready.version.startswith("OpenEXR 3.")
    assert ", Pillow " in imaging.ready.version


def test_it_beats_without_being_asked(imaging: Imaging) -> None:
    first, second = imaging.read(), imaging.read()

    assert isinstance(first, Beat)
    assert isinstance(second, Beat)
    assert min(first.peak_memory, second.peak_memory) > 1_000_000


def test_it_shrinks_a_picture(imaging: Imaging, tmp_path: Path) -> None:
    source, out = tmp_path / "frame.png", tmp_path / "preview.jpg"
    Image.new("RGB", (640, 360), (200, 100, 50)).save(source)

    answer = imaging.ask(Shrink(str(source), str(out), 320))

    assert isinstance(answer, Done), answer
    assert answer.outputs == ["preview.jpg"]
    with Image.open(out) as preview:
        assert (preview.format, preview.size) == ("JPEG", (320, 180))


def test_it_refuses_what_only_blender_can_do_and_goes_on(imaging: Imaging, tmp_path: Path) -> None:
    refused = imaging.ask(Open("/scene.blend"))
    missing = imaging.ask(Shrink(str(tmp_path / "none.png"), str(tmp_path / "out.jpg"), 10))

    assert refused == Failed("internal", "This process does not know how to answer Open.")
    assert isinstance(missing, Failed)
    assert (missing.cause, missing.what) == (
        "bad-result",
        "The picture for the preview is missing (none.png).",
    )


def test_a_folder_that_is_not_there_is_told_without_a_traceback(imaging: Imaging, tmp_path: Path) -> None:
    source = tmp_path / "frame.png"
    Image.new("RGB", (8, 8)).save(source)

    answer = imaging.ask(Shrink(str(source), str(tmp_path / "nowhere" / "out.jpg"), 8))

    assert isinstance(answer, Failed)
    assert answer.cause == "internal"
    assert "Traceback" not in answer.what


def test_a_line_that_is_no_request_ends_it_with_a_reason(imaging: Imaging) -> None:
    imaging.send(b'{"kind":"Merge everything"}\n')

    while isinstance(message := imaging.read(), Beat):
        pass
    assert isinstance(message, Failed)
    assert message.cause == "internal"
    assert imaging.process.wait(timeout=20) == 2


def test_the_end_of_its_input_ends_it(imaging: Imaging) -> None:
    assert imaging.close() == 0


def test_it_does_not_start_for_a_parent_that_is_gone() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "workers.imaging"],
        env={**clean_environment(), "FARM_PARENT_PID": str(os.getppid() + 1_000_000)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 3
    assert done.stdout == b""


def test_it_dies_with_its_parent() -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, subprocess, sys\n"
            "os.environ['FARM_PARENT_PID'] = str(os.getpid())\n"
            "read, write = os.pipe()\n"  # held open here, so that its input does not end
            "child = subprocess.Popen([sys.executable, '-P', '-m', 'workers.imaging'], stdin=read)\n"
            "print(child.pid, flush=True)\n"
            "child.wait()\n",
        ],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert decode(parent.stdout.readline())  # Ready

    os.kill(parent.pid, signal.SIGKILL)
    parent.wait(timeout=20)

    deadline = time.monotonic() + 20
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)
    parent.stdout.close()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
