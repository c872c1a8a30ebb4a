"""Live events: the event table, read by one poller for all who listen."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from farm.domain.job import LOCAL_OWNER, Principal
from farm.domain.views import EventView
from web.services import Services

log = logging.getLogger(__name__)

#: Rows read from the table at once.
PAGE = 500


class Live:
    """Fans the event table out to any number of listeners.

    One task polls the table, and only while somebody listens. Listeners hold no queue: each has a
    cursor into the newest events kept here, and one that fell behind reads the table itself, so a
    slow one costs no memory and misses nothing. Where the poller fails, all listening ends; clients
    connect again and resume. Belongs to one event loop; `close` may be called from anywhere.
    """

    def __init__(
        self, services: Services, who: Principal = LOCAL_OWNER, every: float = 0.25, kept: int = 4096
    ) -> None:
        self._services = services
        self._who = who
        self._every = every  # seconds between two looks at the table
        self._recent: deque[EventView] = deque(maxlen=kept)
        self._floor = 0  # every event after this one, up to `_head`, is in `_recent`
        self._head = 0  # last event that the poller saw
        self._news = asyncio.Event()
        self._listeners = 0
        self._poller: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def listen(self, after: int | None, job_id: str | None) -> AsyncGenerator[list[EventView]]:
        """Batches of events past ``after`` (None: only what comes from now on), oldest first.

        Ends when the process goes down or the table cannot be read.
        """
        self._listeners += 1
        try:
            poller = self._running()
            cursor = await asyncio.to_thread(self._services.latest_event) if after is None else after
            while not self._closed and not poller.done():
                news = self._news
                if cursor < self._floor:
                    head = self._head
                    batch = await self._read(cursor, job_id)
                    cursor = batch[-1].sequence if len(batch) == PAGE else max(cursor, head)
                else:
                    batch = [event for event in self._recent if _wanted(event, cursor, job_id)]
                    cursor = max(cursor, self._head)
                    if not batch:
                        await news.wait()
                if batch:
                    cursor = max(cursor, batch[-1].sequence)
                    yield batch
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._stop()

    async def wait(self, after: int, job_id: str | None, seconds: float) -> list[EventView]:
        """The events past ``after``; where there are none, waits up to ``seconds`` for the first."""
        found = await self._read(after, job_id)
        if found or seconds <= 0:
            return found
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), aclosing(self.listen(after, job_id)) as batches:
                async for batch in batches:
                    return batch
        return []

    def close(self) -> None:
        """End all listening, at once; safe from signal handlers and other threads."""
        self._closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell)

    @property
    def listeners(self) -> int:
        return self._listeners

    @property
    def polling(self) -> bool:
        return self._poller is not None

    def _running(self) -> asyncio.Task[None]:
        """The poller, started where it does not run yet."""
        if self._poller is None:
            self._loop = asyncio.get_running_loop()
            self._poller = asyncio.create_task(self._begin(), name="live events")
            self._poller.add_done_callback(self._ended)
        return self._poller

    async def _begin(self) -> None:
        self._floor = self._head = await asyncio.to_thread(self._services.latest_event)
        self._recent.clear()
        self._tell()
        while True:
            found = await self._read(self._head, None)
            for event in found:
                if len(self._recent) == self._recent.maxlen:
                    self._floor = self._recent[0].sequence
                self._recent.append(event)
            if found:
                self._head = found[-1].sequence
                self._tell()
            if len(found) < PAGE:
                await asyncio.sleep(self._every)

    async def _read(self, after: int, job_id: str | None) -> list[EventView]:
        return await asyncio.to_thread(self._services.events_after, self._who, after, job_id, PAGE)

    def _ended(self, poller: asyncio.Task[None]) -> None:
        if not poller.cancelled() and (error := poller.exception()):
            log.error("Reading the event table failed; live pages will connect again: %s", error)
        if self._poller is poller:
            self._poller = None
        self._tell()

    def _stop(self) -> None:
        if self._poller is not None:
            self._poller.cancel()
            self._poller = None

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def _wanted(event: EventView, cursor: int, job_id: str | None) -> bool:
    return event.sequence > cursor and job_id in (None, event.job_id)
