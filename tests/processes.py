"""What a test has started and what is left of it."""

from __future__ import annotations

import psutil

_servers: set[int] = set()


def keep(pid: int) -> None:
    """A server that serves the whole session is not what a test has started."""
    _servers.add(pid)


def family() -> set[int]:
    """Process ids of everything that this test has started and that still runs."""
    found: set[int] = set()
    for child in psutil.Process().children():
        if child.pid not in _servers:
            found |= {child.pid, *(heir.pid for heir in child.children(recursive=True))}
    return set(filter(_alive, found))


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
