"""Keeps one part of the farm running: starts it, waits until it is ready, starts it again."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from farm.embedded.identity import session
from farm.embedded.logs import rotate, tail
from farm.embedded.service import Service
from farm.embedded.state import Part, Phase

log = logging.getLogger(__name__)

LAUNCHER = Path(__file__).with_name("launcher.py")
TRIES = 3  # ends before it was ever ready, until a start counts as failed
_MISSES = 2  # of its heart's beat
_SETTLED = 30.0  # seconds of life after which an end counts as the first again
_LONGEST = 30.0  # seconds between two starts, at most


class Keeper:
    """One service and its process. All of it runs in the supervisor's main thread."""

    def __init__(self, service: Service, log_file: Path, changed: Callable[[], None]) -> None:
        self.service = service
        self.ready = asyncio.Event()
        self.failed = asyncio.Event()  # never became ready
        self.gone = asyncio.Event()  # has ended, and was not started again yet
        self._log_file = log_file
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._killed = ""  # by this keeper, and why
        self.part = Part(name=service.name, log=str(log_file), since=time.time())

    async def keep(self, needed: list[Keeper]) -> None:
        """Run until cancelled; then `end` ends the process."""
        ends, was_ready = 0, False
        while True:
            if not all(keeper.ready.is_set() for keeper in needed):
                self._tell(phase=Phase.WAITING, pid=None)
                for keeper in needed:
                    await keeper.ready.wait()
            began = time.monotonic()
            self.gone.clear()
            borne_by = [keeper for keeper in needed if keeper.service.name in self.service.falls_with]
            try:
                ended = f"ended with {_words(await self._once(borne_by))}"
            except OSError as error:  # a full disk, or no memory for one more process: that passes
                self._killed = f"it could not be started: {error.strerror or error}."
                ended = "could not be started"
            was_ready = was_ready or self.ready.is_set()
            self.ready.clear()
            self.gone.set()
            ends = 1 if time.monotonic() - began > _SETTLED else ends + 1
            last = tail(self._log_file, 20)
            if self._killed:
                last = (*last, self._killed)
            log.warning("%s %s", self.service.name, ended)
            self._tell(phase=Phase.FAILING, pid=None, restarts=self.part.restarts + 1, last=last)
            if not was_ready and ends >= TRIES:
                self._tell(phase=Phase.FAILED)
                self.failed.set()
                return
            await asyncio.sleep(min(_LONGEST, 0.25 * 2**ends))

    async def end(self) -> None:
        """End the process and its session: SIGTERM, and SIGKILL for what is there after the grace."""
        process = self._process
        if process is None:
            return
        self._tell(phase=Phase.STOPPING)
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), self.service.grace)
        await self._clear_away()
        self._tell(phase=Phase.STOPPED, pid=None)

    async def _once(self, borne_by: list[Keeper]) -> int:
        """One life of the process, from start to end; gives its exit code, negative for a signal.

        Where one of ``borne_by`` ends, it is killed.
        """
        self.service.tidy()
        for folder in self.service.fresh:
            folder.mkdir(mode=0o700, parents=True)
        rotate(self._log_file)
        with self._log_file.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *self.service.command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=dict(self.service.environment),
                cwd="/",
                start_new_session=True,  # its session tells later what belongs to it
            )
        self._process = process
        self._killed = ""
        self._tell(phase=Phase.STARTING, pid=process.pid)
        waiting = asyncio.create_task(self._watch(process))
        falling = [asyncio.create_task(self._fall_with(keeper, process)) for keeper in borne_by]
        try:
            return await process.wait()
        finally:
            for task in (waiting, *falling):
                task.cancel()
            if process.returncode is not None:
                await self._clear_away()

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Note when it is ready; kill it where that takes too long, or where it hangs afterwards."""
        deadline = time.monotonic() + self.service.patience
        while not await asyncio.to_thread(self.service.ready):
            if time.monotonic() > deadline:
                self._killed = f"it was not ready after {self.service.patience:g} s."
                process.kill()
                return
            await asyncio.sleep(0.1)
        self.ready.set()
        self._tell(phase=Phase.READY)
        misses = 0
        while self.service.goes_on is not None and misses < _MISSES:
            await asyncio.sleep(1.0)
            misses = 0 if await asyncio.to_thread(self.service.goes_on) else misses + 1
        if misses:
            self._killed = "it had stopped: its heart did not beat any more."
            log.warning("%s is killed: %s", self.service.name, self._killed)
            process.kill()

    async def _fall_with(self, other: Keeper, process: asyncio.subprocess.Process) -> None:
        await other.gone.wait()
        log.warning("%s is ended, as %s has ended", self.service.name, other.service.name)
        with suppress(ProcessLookupError):
            process.kill()

    async def _clear_away(self) -> None:
        """Kill what is left of the process and of its session, such as Ray's workers."""
        process = self._process
        if process is None:
            return
        for _ in range(50):
            left = [pid for pid in session(process.pid) if pid != os.getpid()]
            if not left:
                break
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.05)
        await process.wait()
        self._process = None
        self.service.tidy()

    def _tell(self, **changes: object) -> None:
        self.part = self.part.model_copy(update={**changes, "since": time.time()})
        self._changed()


def _words(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
