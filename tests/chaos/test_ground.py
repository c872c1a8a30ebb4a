from __future__ import annotations

import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.chaos import ground


def in_the_ground(*lines: str) -> subprocess.CompletedProcess[str]:
    """Run these lines there, by a module that runs what it is given."""
    if lacking := ground.lacking():
        pytest.skip(lacking)
    line = ground.command("timeit", ["-n", "1", "-r", "1", *lines])
    environment = ground.environment()
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_nothing_of_the_machine_is_there_but_its_files() -> None:
    done = in_the_ground(
        "import pathlib, psutil, socket",
        "assert len(psutil.pids()) == 2, psutil.pids()",
        "assert set(psutil.net_if_addrs()) == {'lo'}, psutil.net_if_addrs()",
        "socket.create_server(('127.0.0.1', 80))",
        f"assert pathlib.Path({str(Path(__file__))!r}).exists()",
    )
    assert done.returncode == 0, done.stderr


def test_its_end_is_told_and_leaves_no_process(tmp_path: Path) -> None:
    marker = tmp_path / "beats"
    beat = f"import time, pathlib\nwhile True: pathlib.Path({str(marker)!r}).touch(); time.sleep(0.01)"
    done = in_the_ground(
        "import os, pathlib, subprocess, sys, time",
        f"line = [sys.executable, '-I', '-S', '-c', {beat!r}]",
        "subprocess.Popen(line, start_new_session=True)",
        f"while not pathlib.Path({str(marker)!r}).exists(): time.sleep(0.01)",
        "os._exit(7)",
    )
    assert done.returncode == 7, done.stderr
    marker.unlink()
    time.sleep(0.2)
    assert not marker.exists(), "it beats on"
    assert not psutil.Process().children()
