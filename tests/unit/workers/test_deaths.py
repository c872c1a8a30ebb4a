from __future__ import annotations

import signal
from pathlib import Path

import pytest

from farm.domain.work import Cause
from workers import deaths
from workers.deaths import explained, signal_of


@pytest.mark.parametrize(
    ("code", "sandboxed", "number"),
    [
        (-6, False, signal.SIGABRT),
        (134, True, signal.SIGABRT),
        (134, False, None),
        (1, True, None),
        (0, False, None),
        (255, True, None),
    ],
)
def test_the_signal_behind_an_exit_code(code: int, sandboxed: bool, number: signal.Signals | None) -> None:
    assert signal_of(code, sandboxed=sandboxed) is number


def test_a_crash_names_its_signal() -> None:
    found = explained("Blender", -11, "", sandboxed=False, oom_killed=False)
    assert found.cause is Cause.CRASH
    assert found.what == "Blender crashed (SIGSEGV: it touched memory that is not its own)."
    assert found.cure


@pytest.mark.parametrize(
    "log", ["Malloc returns null: len=9", "System is out of GPU memory", "terminate called: std::bad_alloc"]
)
def test_what_the_log_says_of_memory_is_believed(log: str) -> None:
    assert explained("Blender", -6, log, sandboxed=False, oom_killed=False).cause is Cause.OUT_OF_MEMORY


def test_the_gpu_s_memory_is_told_from_the_machine_s() -> None:
    found = explained("Blender", -6, "System is out of GPU memory", sandboxed=False, oom_killed=False)
    assert found.what == "Blender ran out of GPU memory."
    found = explained("Blender", -6, "std::bad_alloc", sandboxed=False, oom_killed=False)
    assert found.what == "Blender ran out of memory."


def test_whom_the_kernel_kills_is_counted_on_the_machine_and_in_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "vmstat", tmp_path / "memory.events", tmp_path / "none"
    monkeypatch.setattr(deaths, "_COUNTERS", files)
    assert deaths.oom_kills() == 0
    files[0].write_text("pgfault 12\noom_kill 3\n")
    assert deaths.oom_kills() == 3
    files[1].write_text("low 0\noom 1\noom_kill 1\noom_group_kill 0\n")
    assert deaths.oom_kills() == 4


def test_a_kill_is_for_memory_only_where_the_kernel_counted_one() -> None:
    killed = explained("Blender", -9, "", sandboxed=False, oom_killed=True, peak_memory=12_340_000_000)
    assert (killed.cause, killed.what) == (
        Cause.OUT_OF_MEMORY,
        "Blender ran out of memory: the system ended it.",
    )
    assert killed.peak_memory == 12_340_000_000
    assert explained("Blender", -9, "", sandboxed=False, oom_killed=False).cause is Cause.CRASH
    assert explained("Blender", -6, "", sandboxed=False, oom_killed=True).cause is Cause.CRASH
