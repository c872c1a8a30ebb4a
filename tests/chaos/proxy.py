"""A plain TCP forwarder that can be told to behave badly."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from enum import StrEnum

_CHUNK = 16 * 1024
_DELAY = 0.15  # seconds a chunk
_CUT_AFTER = 40_000  # bytes
_RESET = struct.pack("ii", 1, 0)  # struct linger: on, 0 s: close() sends RST


class Manner(StrEnum):
    """How bytes are forwarded."""

    FAITHFUL = "faithful"
    SLOW = "slow"  # each chunk waits
    CUT = "cut"  # connections end in the middle of what they carry
    RESET = "reset"  # connections are reset, old and new ones
    HOLD = "hold"  # nothing is carried any more, and no one is told


class Forwarder:
    """Carries each connection to ``upstream``; `manner` may change at any time, from any thread."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self._upstream = upstream
        self.manner = Manner.FAITHFUL
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, host: str, port: int) -> None:
        """Until cancelled."""
        server = await asyncio.start_server(self._carry, host, port)
        async with server:
            await server.serve_forever()

    def break_all(self) -> None:
        """Reset the connections that are open now; in the loop's own thread."""
        for writer in list(self._open):
            _reset(writer)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.manner is Manner.RESET:
            _reset(writer)
            return
        try:
            async with asyncio.timeout(20):
                there, back = await asyncio.open_connection(*self._upstream)
        except (OSError, TimeoutError):
            _reset(writer)
            return
        self._open.update((writer, back))
        try:
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
        except OSError:
            _reset(writer)
        finally:
            self._open.difference_update((writer, back))
            for each in (writer, back):
                each.close()

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        carried = 0
        while data := await source.read(_CHUNK):
            while self.manner is Manner.HOLD:
                await asyncio.sleep(0.05)
            if self.manner is Manner.SLOW:
                await asyncio.sleep(_DELAY)
            carried += len(data)
            if self.manner is Manner.CUT and carried > _CUT_AFTER:
                target.write(data[: len(data) // 2])
                raise ConnectionResetError
            target.write(data)
            await target.drain()
        with suppress(OSError):
            target.write_eof()


class Proxy:
    """A `Forwarder` in a thread of its own."""

    def __init__(self, host: str, port: int, upstream: tuple[str, int]) -> None:
        self._forwarder = Forwarder(upstream)
        self._place = (host, port)
        self._runner = asyncio.Runner()
        self._loop = self._runner.get_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._thread.start()

    def behave(self, manner: Manner) -> None:
        """From now on; a reset ends what is open at once."""
        self._forwarder.manner = manner
        if manner is Manner.RESET:
            self._loop.call_soon_threadsafe(self._forwarder.break_all)

    def close(self) -> None:
        """Stop listening, and break off what is open."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(timeout=5)

    def _run(self) -> None:
        with self._runner:
            self._runner.run(self._serve())

    async def _serve(self) -> None:
        serving = asyncio.create_task(self._forwarder.serve(*self._place))
        await self._ended.wait()
        self._forwarder.break_all()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def _reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    if raw is not None:
        with suppress(OSError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
