"""At most one dispatcher on a database: who begins while another one lives is refused.

The fence (`farm.store.head`) keeps a second one from doing harm; this keeps two supervised ones from
taking the head from each other for ever. Whether one lives is seen in its beat, without comparing the
clocks of two machines: it beats every second, so one that does not within a few has stopped. On the
machine that it ran on, a process that is gone need not be watched at all.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable

from farm.domain.errors import Conflict
from farm.store import Database, head

#: Seconds from beat to beat, and without one until a dispatcher counts as stopped.
BEAT, STALE = 1.0, 4.0
_LOOK = 0.25
#: A beat that is so old by the clock is of one that is gone, however wrong the clocks may be.
_LONG_GONE = 120.0


class AnotherHead(Conflict):
    """Another dispatcher lives on this database."""


def wait_until_free(
    store: Database, clock: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Come back once no other dispatcher lives, after `STALE` seconds at most; blocks.

    At once where the last one ended in order, or its process is gone from this machine. Raises
    `AnotherHead` as soon as another is seen to live.
    """
    first = _held(store)
    waited = 0.0
    while first is not None and first.pid is not None and clock() - first.beat < _LONG_GONE:
        if waited >= STALE or _gone(first.host, first.pid):
            return
        sleep(_LOOK)
        waited += _LOOK
        now = _held(store)
        if now is None or now.pid is None:
            return
        if (now.epoch, now.beat) != (first.epoch, first.beat):
            raise AnotherHead(
                f"Another dispatcher works on this database: process {now.pid} on {now.host}, "
                f"heard of {max(0.0, clock() - now.beat):.0f} s ago.",
                f"A farm has one dispatcher. End that one first (on {now.host}: kill {now.pid}), or give "
                "this farm a database of its own (FARM_DATABASE_URL).",
            )


def _gone(host: str, pid: int) -> bool:
    if host != platform.node():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's
        return False
    return False


def _held(store: Database) -> head.Head | None:
    with store.read() as connection:
        return head.held(connection)
