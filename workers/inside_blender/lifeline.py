"""A child never outlives its parent: Linux kills it with the parent, and end of input ends it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def tie_to_parent() -> None:
    """Ask Linux to kill this process when its parent dies; exit if that has already happened.

    The signal comes when the *thread* that forked ends, so the parent must fork from one that stays.
    ``FARM_PARENT_PID`` is the parent as it sees itself; absent in a process namespace of our own, where
    numbers differ (there the sandbox dies with the parent).
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    expected = os.environ.get("FARM_PARENT_PID")
    if expected and os.getppid() != int(expected):
        os._exit(1)
