"""What is left when even the guardian was killed: found by session and open files, never by name."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from farm.embedded.home import Home
from farm.embedded.identity import session
from farm.embedded.state import read


def clear(home: Home) -> None:
    """Kill the last farm's processes and remove its sockets. Only for a home in which no guardian lives.

    A part leads a session of its own; those of its session that hold a file of this farm open are
    ours beyond doubt, whoever may have got the leader's pid since.
    """
    state = read(home.state)
    if state is not None:
        _kill([part.pid for part in state.parts if part.pid is not None], home)
        for socket in state.sockets:
            Path(socket).unlink(missing_ok=True)
    shutil.rmtree(home.sockets, ignore_errors=True)


def _kill(leaders: list[int], home: Home) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        left = [pid for leader in leaders for pid in session(leader) if _is_ours(pid, home)]
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _is_ours(pid: int, home: Home) -> bool:
    """Whether it holds a file of this farm open, such as its log. Ray writes over its environment."""
    folders = (f"{home.root}/", f"{home.sockets}/")
    with suppress(OSError):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if str(handle.readlink()).startswith(folders):
                    return True
    return False
