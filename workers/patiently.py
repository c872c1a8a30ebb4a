"""Waiting for storage that is away: a picture that took an hour is worth some minutes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from farm.domain.errors import Unavailable

PATIENCE = 600.0  # seconds
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)


async def patiently[T](call: Callable[[], T]) -> T:
    """What the blocking ``call`` gives; while it raises `Unavailable` it is tried again.

    After `PATIENCE` seconds, the last `Unavailable` is raised. Anything else is raised at once.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    for wait in itertools.chain(_WAITS, itertools.repeat(_WAITS[-1])):
        try:
            return await asyncio.to_thread(call)
        except Unavailable:
            if loop.time() + wait > deadline:
                raise
        await asyncio.sleep(wait)
    raise AssertionError("itertools.repeat ended")
