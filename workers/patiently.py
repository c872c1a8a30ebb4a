"""Waiting for storage: patiently where it is away, together where there is much to carry."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from farm.domain.errors import Unavailable

PATIENCE = 600.0  # seconds: a picture that took an hour is worth some minutes
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


async def together[T](work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What each of ``work`` gives, in order. The first failure ends the others, and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
