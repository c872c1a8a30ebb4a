"""Why a child process died, in words: from its exit code, its log and what the kernel counted."""

from __future__ import annotations

import contextlib
import re
import signal
from pathlib import Path

from farm.domain.work import Cause
from workers import shortage
from workers.failures import AttemptFailed

#: Where the kernel counts whom it killed for lack of memory: on the machine, and in the container we are in.
_COUNTERS = (
    Path("/proc/vmstat"),
    Path("/sys/fs/cgroup/memory.events"),
    Path("/sys/fs/cgroup/memory/memory.oom_control"),
)
_WORDS = {
    signal.SIGABRT: "crashed (SIGABRT: it gave up by itself)",
    signal.SIGSEGV: "crashed (SIGSEGV: it touched memory that is not its own)",
    signal.SIGBUS: "crashed (SIGBUS: a file or memory went away under it)",
    signal.SIGFPE: "crashed (SIGFPE: impossible arithmetic)",
    signal.SIGILL: "crashed (SIGILL: an instruction that this CPU does not have)",
    signal.SIGKILL: "was killed (SIGKILL)",
    signal.SIGTERM: "was ended from outside (SIGTERM)",
}
_CURES = {
    signal.SIGILL: "Render this job on a worker with a newer CPU.",
    signal.SIGTERM: "Nothing to do: the farm tries again.",
    signal.SIGBUS: "See whether the worker's disk or /dev/shm is full.",
}


def oom_kills() -> int:
    """A number that grows when the kernel kills a process for lack of memory.

    A container with a limit of its own may hide the machine's counter, so that its own is added.
    """
    kills = 0
    for counter in _COUNTERS:
        with contextlib.suppress(OSError):
            found = re.search(r"^oom_kill (\d+)$", counter.read_text(), re.MULTILINE)
            kills += int(found[1]) if found else 0
    return kills


def signal_of(code: int, *, sandboxed: bool) -> signal.Signals | None:
    """The signal behind an exit code; bubblewrap, like a shell, gives 128 + its number."""
    number = -code if code < 0 else code - 128 if sandboxed and code > 128 else 0
    try:
        return signal.Signals(number) if number > 0 else None
    except ValueError:
        return None


def explained(
    program: str, code: int, log: str, *, sandboxed: bool, oom_killed: bool, peak_memory: int = 0
) -> AttemptFailed:
    """The death of a child that owed an answer. ``log`` is the end of what it printed.

    Linux kills with SIGKILL when memory runs out, and says so only in its own counter (``oom_killed``).
    """
    number = signal_of(code, sandboxed=sandboxed)
    killed = number is signal.SIGKILL and oom_killed
    if lacking := shortage.HOST if killed else shortage.missing(log):
        return AttemptFailed(
            Cause.OUT_OF_MEMORY,
            f"{program} ran out of {lacking}{': the system ended it' if killed else ''}.",
            f"Render with smaller textures or less geometry, or on a worker with more {lacking}.",
            peak_memory=peak_memory,
        )
    if number is not None:
        words = _WORDS.get(number, f"ended by {number.name}")
        return AttemptFailed(
            Cause.CRASH,
            f"{program} {words}.",
            _CURES.get(
                number, "Open the scene in Blender and render this frame there; the log may name the reason."
            ),
        )
    return AttemptFailed(
        Cause.CRASH,
        f"{program} ended in the middle of its work (exit code {code}).",
        "The log may name the reason.",
    )
