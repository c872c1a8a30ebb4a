"""``python -m farm.embedded.supervisor``: runs the parts of a farm until SIGTERM.

Started by the guardian. Guarantee: whatever is started here ends when this process ends, however it
ends, for each part asked the kernel for that before it began (`launcher`).
"""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
import os
import signal
import sys
import time

from farm.domain.errors import TesseraError
from farm.embedded.home import Home
from farm.embedded.identity import Identity
from farm.embedded.keeper import Keeper
from farm.embedded.logs import last_words, rotate
from farm.embedded.services import Plan, plan
from farm.embedded.state import FarmState, Phase
from farm.settings import Settings

log = logging.getLogger(__name__)

_TITLES = {
    "storage": "Storage",
    "ray": "Ray, which carries the workers,",
    "dispatcher": "The dispatcher",
    "web": "The page",
}
_ROTATE_EVERY = 30.0  # seconds


class Supervisor:
    """The parts of one farm."""

    def __init__(self, home: Home, running: Plan) -> None:
        self._home = home
        self._plan = running
        self._phase = Phase.STARTING
        self._started = time.time()
        self._failure: tuple[str, str] = ("", "")
        self._unwritten = False  # what was last to be told could not be
        self._stop = asyncio.Event()
        self._keepers = {
            service.name: Keeper(service, home.logs / f"{service.name}.log", self._write)
            for service in running.services
        }

    def stop(self) -> None:
        """End the farm in order."""
        self._stop.set()

    async def run(self) -> int:
        """Until `stop`, or until a part cannot be started; gives the exit code."""
        self._write()
        keeping = [
            asyncio.create_task(keeper.keep([self._keepers[name] for name in keeper.service.needs]))
            for keeper in self._keepers.values()
        ]
        watching = asyncio.create_task(self._watch())
        logs = asyncio.create_task(self._rotate())
        await self._stop.wait()
        for task in (*keeping, watching, logs):
            task.cancel()
        await asyncio.gather(*keeping, watching, logs, return_exceptions=True)
        if not self._failure[0]:
            self._phase = Phase.STOPPING
        for last in (False, True):
            ending = [keeper for keeper in self._keepers.values() if keeper.service.last_to_go is last]
            await asyncio.gather(*(keeper.end() for keeper in ending))
        self._write()
        return 1 if self._failure[0] else 0

    async def _watch(self) -> None:
        """Note when all are ready, and give up when one cannot be started."""
        ready = asyncio.create_task(self._all_ready())
        failed = [asyncio.create_task(_failed(keeper)) for keeper in self._keepers.values()]
        try:
            await asyncio.wait((ready, *failed), return_when=asyncio.FIRST_COMPLETED)
            if not any(task.done() for task in failed):
                self._phase = Phase.READY
                log.info("the farm is ready after %.1f s at %s", time.time() - self._started, self._plan.url)
                self._write()
                await asyncio.wait(failed, return_when=asyncio.FIRST_COMPLETED)
            self._give_up(next(task.result() for task in failed if task.done()))
        finally:
            for waiting in (ready, *failed):
                waiting.cancel()

    async def _all_ready(self) -> None:
        for keeper in self._keepers.values():
            await keeper.ready.wait()

    def _give_up(self, keeper: Keeper) -> None:
        part = keeper.part
        said, cure = last_words(part.last)
        self._phase = Phase.FAILED
        self._failure = (
            f"{_TITLES.get(part.name, part.name)} could not be started{f': {said}' if said else '.'}",
            f"{cure}{' ' if cure else ''}The whole log is in {part.log}; “farm doctor” checks this machine.",
        )
        log.error("%s", self._failure[0])
        self._stop.set()

    async def _rotate(self) -> None:
        while True:
            await asyncio.sleep(_ROTATE_EVERY)
            if self._unwritten:
                self._write()
            for keeper in self._keepers.values():
                await asyncio.to_thread(rotate, self._home.logs / f"{keeper.service.name}.log")

    def _write(self) -> None:
        what, cure = self._failure
        state = FarmState(
            phase=self._phase,
            url=self._plan.url,
            supervisor=Identity.of(os.getpid()),
            started=self._started,
            parts=tuple(keeper.part for keeper in self._keepers.values()),
            ports=self._plan.ports,
            sockets=tuple(str(path) for service in self._plan.services for path in service.sockets),
            what=what,
            cure=cure,
        )
        self._unwritten = False
        try:
            state.write(self._home.state)
        except OSError as error:  # a full disk must not end the farm
            self._unwritten = True
            log.warning("run/state.json could not be written: %s", error)


async def _failed(keeper: Keeper) -> Keeper:
    await keeper.failed.wait()
    return keeper


async def supervise(home: Home, running: Plan) -> int:
    """Run the parts until SIGTERM; gives the exit code."""
    supervisor = Supervisor(home, running)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.stop)
    return await supervisor.run()


def main() -> int:
    """Exit code: 0 after SIGTERM, 1 where the farm could not be started (said in ``run/state.json``)."""
    settings = Settings()
    home = Home(settings.home)
    handler = logging.handlers.RotatingFileHandler(home.logs / "farm.log", maxBytes=4_000_000, backupCount=2)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", handlers=[handler]
    )
    try:
        running = plan(settings)
    except TesseraError as error:
        log.error("%s", error)
        FarmState(
            phase=Phase.FAILED,
            url="",
            supervisor=Identity.of(os.getpid()),
            started=time.time(),
            what=error.what,
            cure=error.cure,
        ).write(home.state)
        return 1
    return asyncio.run(supervise(home, running))


if __name__ == "__main__":
    sys.exit(main())
