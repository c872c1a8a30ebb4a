"""Pieces that are not needed any more: their rows are gone, and now their bytes go."""

from __future__ import annotations

import asyncio
import logging

from farm.domain.errors import TesseraError
from farm.storage import Storage

log = logging.getLogger(__name__)

_SHORTEST, _LONGEST = 1.0, 60.0  # seconds between two tries
_KEPT = 200_000  # keys that wait, at most: storage that is away for days must not fill the memory


class Deletions:
    """Keys to delete, apart from the turns: storage that is away keeps no worker waiting.

    What it does not take is tried again, with longer and longer pauses. It is forgotten with the process:
    then nothing points at it, and it only takes up room.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._doomed: list[str] = []
        self._more = asyncio.Event()

    def add(self, keys: list[str]) -> None:
        """Have these deleted, soon."""
        room = max(0, _KEPT - len(self._doomed))
        if len(keys) > room:
            log.warning("%d pieces are left in storage: too many wait to be deleted", len(keys) - room)
        self._doomed += keys[:room]
        self._more.set()

    async def run(self) -> None:
        """Delete until cancelled."""
        pause = _SHORTEST
        while True:
            await self._more.wait()
            self._more.clear()
            keys, self._doomed = self._doomed, []
            if not keys:
                continue
            try:
                await asyncio.to_thread(self._storage.delete, keys)
            except TesseraError as error:
                log.warning("%d pieces could not be deleted yet: %s", len(keys), error.what)
                self._doomed[:0] = keys
                self._more.set()
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST)
            else:
                pause = _SHORTEST
