"""Waiting for storage: patiently where it is away, together where there is much to carry."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from farm.domain.errors import Unavailable

PATIENCE = 600.0  # seconds for what is only needed: another worker, later, may have more luck
KEPT = 3600.0  # seconds for what was made here: a picture that took an hour is worth another
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)

#: Hears True when storage is found to be away, and False when it is back.
type Waiting = Callable[[bool], None]


def unheard(away: bool) -> None:
    """Where nobody needs to hear of it."""
    del away


async def patiently[T](call: Callable[[], T], waiting: Waiting = unheard, most: float | None = None) -> T:
    """What the blocking ``call`` gives; while it raises `Unavailable` it is tried again.

    After ``most`` seconds (None: `PATIENCE`), the last `Unavailable` is raised; anything else is raised at
    once. A caller that is cancelled goes at once; a call that hangs is left to its thread.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (PATIENCE if most is None else most)
    away = False
    for wait in itertools.chain(_WAITS, itertools.repeat(_WAITS[-1])):
        try:
            found = await asyncio.to_thread(call)
        except Unavailable:
            if loop.time() + wait > deadline:
                raise
            if not away:
                away = True
                waiting(True)
        else:
            if away:
                waiting(False)
            return found
        await asyncio.sleep(wait)
    raise AssertionError("itertools.repeat ended")


async def together[T](work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What each of ``work`` gives, in order. The first failure ends the others, and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
