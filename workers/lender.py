"""Looks, once a second, whether this machine is lent to the farm, and tells whenever that changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from workers.idleness import idle_seconds
from workers.lending import Away, Lending
from workers.others import Quiet

_EVERY = 1.0  # seconds: who comes back waits no longer than this, and the end of a process


@dataclass(frozen=True, slots=True)
class Senses:
    """What is looked at: the machine's clock on the wall, its owner, and what its other programs do."""

    now: Callable[[], datetime] = datetime.now
    idle: Callable[[], float | None] = idle_seconds
    quiet: Callable[[float], Callable[[], float]] = lambda cores: Quiet(cores).seconds


class Lender:
    """Knows whether the machine is away; ``changed`` hears of each change, its first look included.

    To be used from one event loop.
    """

    def __init__(self, lending: Lending, senses: Senses, changed: Callable[[Away | None], None]) -> None:
        self.away: Away | None = None
        self._lending = lending
        self._senses = senses
        self._changed = changed
        self._quiet = None if lending.busy is None else senses.quiet(lending.busy)
        self._looking: asyncio.Task[None] | None = None
        self._looked = asyncio.Event()

    async def looked(self) -> None:
        """Begin to look, and wait until `away` is true of the machine."""
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(), name="looking whether this machine is lent")
        await self._looked.wait()

    async def close(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def _look(self) -> None:
        while True:
            idle = None if self._lending.idle is None else await asyncio.to_thread(self._idle)
            away = self._lending.away(self._senses.now(), idle)
            if away != self.away:
                self.away = away
                self._changed(away)
            self._looked.set()
            await asyncio.sleep(_EVERY)

    def _idle(self) -> float | None:
        idle = self._senses.idle()
        return idle if idle is None or self._quiet is None else min(idle, self._quiet())
