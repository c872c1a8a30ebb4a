"""What is made of the answers of systems that this test does not run on, and of the one it does."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers import idleness
from workers.idleness import of_ioreg, of_logind, of_ticks


def test_logind_s_hint() -> None:
    assert of_logind("IdleHint=no\nIdleSinceHintMonotonic=5000000\n", 65.0) == 0
    assert of_logind("IdleHint=yes\nIdleSinceHintMonotonic=5000000\n", 65.0) == 60
    assert of_logind("IdleHint=yes\nIdleSinceHintMonotonic=0\n", 65.0) == math.inf
    assert of_logind("", 65.0) is None
    assert of_logind("IdleHint=yes\nIdleSinceHintMonotonic=n/a\n", 65.0) is None


def test_macos_s_registry() -> None:
    assert of_ioreg('    | |   "HIDIdleTime" = 61234567890\n  "HIDKind" = 1') == 61.23456789
    assert of_ioreg("nothing") is None


def test_windows_ticks_start_over() -> None:
    assert of_ticks(10_000, 4_000) == 6
    assert of_ticks(1_000, (1 << 32) - 1_000) == 2


def test_whoever_types_into_a_terminal_is_there(tmp_path: Path) -> None:
    pts = tmp_path / "pts"
    pts.mkdir()
    for name, read in (("0", 100), ("1", 400)):
        (pts / name).touch()
        os.utime(pts / name, (read, 0))
    console = tmp_path / "tty1"
    console.touch()
    os.utime(console, (900, 0))
    if os.getuid():
        pytest.skip("only root's own files belong to root")
    files = [*pts.iterdir(), console, tmp_path / "gone"]
    assert idleness._terminals(files, lambda: 460.0) == 60
    os.chown(console, 1000, 1000)
    assert idleness._terminals(files, lambda: 960.0) == 60
    assert idleness._terminals([], lambda: 960.0) is None


def test_this_machine_answers_or_says_that_it_cannot() -> None:
    seconds = idleness.idle_seconds()
    assert seconds is None or seconds >= 0


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An X server of our own."""
    for program in ("Xvfb", "xdotool"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as numbers:
            display = f":{numbers.readline().strip()}"
        monkeypatch.setenv("DISPLAY", display)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        yield display
    finally:
        server.terminate()
        server.wait()


def test_an_x_server_tells_when_the_mouse_was_moved(screen: str) -> None:
    if idleness._x11() is None:
        pytest.skip("no libXss here")
    time.sleep(1.5)
    idle = idleness._desktop(os.environ)
    assert idle is not None
    assert idle >= 1
    subprocess.run(["xdotool", "mousemove", "10", "10"], check=True)
    back = idleness._desktop(os.environ)
    assert back is not None
    assert back < idle
    assert screen.startswith(":")
