"""``python -m farm.embedded.guardian HOME SOCKETS``: sees to it that nothing outlives the farm.

It starts the supervisor and waits. Every process whose own parent has died comes to it, as it is their
subreaper (prctl(2), PR_SET_CHILD_SUBREAPER), so that it finds what a killed supervisor or a killed Ray
left behind, and kills it, without ever looking for a name. Standard library only, so that it is small
and has little to fail with. If it is killed itself, the supervisor and its parts end with it.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_LAUNCHER = Path(__file__).with_name("launcher.py")


def main() -> int:
    """Exit code: the supervisor's, or 3 where another farm lives in the home.

    The process that was started returns at once and leaves the work to a child: whoever started it
    is not its parent, and has nothing to wait for.
    """
    if os.fork():
        return 0
    home, sockets = Path(sys.argv[1]), Path(sys.argv[2])
    lock = os.open(home / "run" / "living.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 3
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    command = (sys.executable, "-P", "-m", "farm.embedded.supervisor")
    supervisor = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command], stdin=subprocess.DEVNULL
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: os.kill(supervisor.pid, signal.SIGTERM))
    code = _wait_for(supervisor.pid)
    _kill_all()
    shutil.rmtree(sockets, ignore_errors=True)
    for path in _told_sockets(home / "run" / "state.json"):
        Path(path).unlink(missing_ok=True)
    return code


def _told_sockets(state: Path) -> list[str]:
    """Sockets outside of the farm's folders that the supervisor has told about."""
    try:
        return list(json.loads(state.read_bytes())["sockets"])
    except (OSError, ValueError, KeyError):
        return []


def _wait_for(pid: int) -> int:
    """Reap whatever ends, until it is `pid`; gives its exit code."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return abs(os.waitstatus_to_exitcode(status))


def _kill_all() -> None:
    """Kill the children; theirs become ours and are killed in their turn, until there are none."""
    while True:
        for pid in _children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def _children() -> list[int]:
    tasks = Path("/proc/self/task")
    return [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]


if __name__ == "__main__":
    sys.exit(main())
