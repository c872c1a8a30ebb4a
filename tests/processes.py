"""What a test has started and what is left of it."""

from __future__ import annotations

from contextlib import suppress

import psutil

_others: set[int] = set()


def forget_others() -> None:
    """What runs now, such as the servers of the whole session, is not what the next test starts."""
    _others.clear()
    _others.update(child.pid for child in psutil.Process().children())


def family() -> set[int]:
    """Process ids of everything that this test has started and that still runs."""
    found: set[int] = set()
    for child in psutil.Process().children():
        if child.pid not in _others:
            found.add(child.pid)
            with suppress(psutil.NoSuchProcess):  # it may end while it is looked at
                found.update(heir.pid for heir in child.children(recursive=True))
    return set(filter(_alive, found))


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
