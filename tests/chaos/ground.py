"""Where chaos happens: namespaces of its own, in which no process, mount or network of the machine is.

Processes that are started there are all that can be seen, and so all that can be hit; when the first
of them ends, the kernel ends the others. Nothing has to be found by a name, and nothing is left behind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

#: Set inside of the namespaces: the process id that the runner's parent has outside.
_MARK = "TESSERA_CHAOS_GROUND"
_TOOLS = ("unshare", "nsenter", "ip", "mount")
_TRIAL = (
    "mount -t tmpfs -o size=1m none /mnt"
    " && ip link set lo up"
    " && ip link add chaos0 type veth peer name chaos1"
    " && ip link delete chaos0"
)


def inside() -> bool:
    """Whether this process is in the namespaces already."""
    return _MARK in os.environ


def number() -> int:
    """A number that no other chaos on this machine has now."""
    return int(os.environ[_MARK])


@cache
def lacking() -> str:
    """What this machine lacks for chaos, in one sentence; empty where it lacks nothing."""
    if sys.platform != "linux":
        return "namespaces are Linux’s"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} is not installed (Debian: apt-get install util-linux iproute2)"
    tried = subprocess.run([*_unshare(), "sh", "-c", _TRIAL], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return ""
    said = (tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"])[-1]
    return f"namespaces with a network and disks of their own cannot be made here ({said})"


def command(module: str, arguments: Sequence[str]) -> list[str]:
    """The command line that runs a module of ours with these arguments in namespaces of its own."""
    init = (sys.executable, "-I", "-S", str(Path(__file__).with_name("init.py")))
    return [*_unshare(), *init, sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment for `command`: without the settings of farms that the caller may have."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FARM_")}
    return {**kept, _MARK: str(os.getpid()), "PYTHONSAFEPATH": "1"}


def _unshare() -> list[str]:
    line = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return line if os.geteuid() == 0 else [*line, "--user", "--map-root-user"]
