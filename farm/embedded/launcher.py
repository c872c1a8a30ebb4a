"""Starts a program that the kernel kills when the one that asked for it dies.

``python -I -S launcher.py PARENT_PID PROGRAM ARGUMENT…``: standard library only, run by its path.
A program of its own, because code between fork and exec in a process with threads can hang.
See prctl(2), PR_SET_PDEATHSIG: it survives exec and fires when the parent's forking thread ends, so
parents start children from their main thread.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Does not return."""
    parent, program, *arguments = sys.argv[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):  # it died before the kernel was told
        sys.exit(1)
    os.execv(program, [program, *arguments])  # noqa: S606 - no shell is what is wanted


if __name__ == "__main__":
    main()
