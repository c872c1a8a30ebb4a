from __future__ import annotations

import signal

import pytest

from farm.domain.work import Cause
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


def test_a_kill_is_for_memory_only_where_the_kernel_counted_one() -> None:
    killed = explained("Blender", -9, "", sandboxed=False, oom_killed=True, peak_memory=12_340_000_000)
    assert (killed.cause, killed.what) == (
        Cause.OUT_OF_MEMORY,
        "Blender ran out of memory (12.3 GB in use).",
    )
    assert explained("Blender", -9, "", sandboxed=False, oom_killed=False).cause is Cause.CRASH
    assert explained("Blender", -6, "", sandboxed=False, oom_killed=True).cause is Cause.CRASH
