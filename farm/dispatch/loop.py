"""The loop around the pure core: hears workers and users, has the turn committed, then acts.

Crash guarantee: everything the core decides in a turn is one transaction, checked against the
fenced epoch; effects come after its commit. A dispatcher killed at any moment leaves a database
from which the next one goes on: orders that were never sent are found missing on their workers,
results that were never committed are reported again, jobs and wishes that were never read are
still there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import time
from collections.abc import Callable

from farm.cluster import Cluster
from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.core import Core
from farm.dispatch.deletions import Deletions
from farm.dispatch.fleet import Fleet, Told
from farm.dispatch.headship import BEAT
from farm.dispatch.recovery import load_state
from farm.dispatch.turns import Turns
from farm.domain.errors import TesseraError
from farm.domain.job import new_id
from farm.storage import Storage
from farm.store import Database, head, workers

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2  # for new jobs and wishes
_TEND_SECONDS = 2.0
_MEET_SECONDS = 90.0  # a worker's first start compiles nothing but may wait for a cold disk


class Dispatcher:
    """The head's one writer."""

    def __init__(
        self,
        store: Database,
        storage: Storage,
        cluster: Cluster,
        clock: Callable[[], float] = time.time,
        beaten: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the next epoch and read back what has not ended; raises `Unavailable`.

        Whoever holds the epoch now is fenced: see `farm.dispatch.headship` first. ``beaten`` is called,
        in a thread, after each beat that was committed.
        """
        self._store = store
        self._clock = clock
        self._inbox: asyncio.Queue[Told] = asyncio.Queue()
        self._deletions = Deletions(storage)
        self._fleet = Fleet(cluster, self._inbox)
        with store.write() as connection:
            self._epoch = head.take(connection, clock(), platform.node(), os.getpid())
            workers.drop_all(connection)
            state = load_state(connection, clock())
        self.core = Core(state, lambda: f"a{new_id(12)}")
        self._turns = Turns(store, self.core, self._epoch, clock, beaten)
        log.info("epoch %d, %d jobs to go on with", self._epoch, len(state.jobs))

    async def run(self) -> None:
        """Dispatch until cancelled. Raises `Fenced`, `Unavailable`, or OSError where the cluster is away."""
        work = (self._tend(), self._turn_forever(), self._deletions.run())
        tasks = [asyncio.create_task(each) for each in work]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Stop listening to the workers, who go on, and give the head up."""
        await self._fleet.close()
        try:
            await asyncio.to_thread(self._turns.end)
        except (head.Fenced, TesseraError):
            log.info("the head is another's, or its database is away: it cannot be given up")

    async def _tend(self) -> None:
        await self._fleet.tend()
        await self._fleet.meet(_MEET_SECONDS)
        await self._inbox.put(Told([told.FleetMet()]))
        while True:
            await asyncio.sleep(_TEND_SECONDS)
            await self._fleet.tend()

    async def _turn_forever(self) -> None:
        loop = asyncio.get_running_loop()
        look_at = beat_at = loop.time()
        while True:
            messages = await self._hear(look_at - loop.time())
            looks, beats = loop.time() >= look_at, loop.time() >= beat_at
            done = await asyncio.to_thread(self._turns.take, messages, looks=looks, beats=beats)
            look_at = loop.time() + _LOOK_SECONDS if looks else look_at
            beat_at = loop.time() + BEAT if beats else beat_at
            for effect in done.effects:  # first: workers wait for their orders
                self._act(effect)
            for message in messages:
                message.committed.set()
            if done.doomed:
                self._deletions.add(done.doomed)

    async def _hear(self, seconds: float) -> list[Told]:
        """All that workers have said; nothing where nobody does for so long: it is time to look around."""
        messages: list[Told] = []
        if self._inbox.empty() and seconds > 0:
            try:
                messages.append(await asyncio.wait_for(self._inbox.get(), seconds))
            except TimeoutError:
                return messages
        while not self._inbox.empty():
            messages.append(self._inbox.get_nowait())
        return messages

    def _act(self, effect: do.Effect) -> None:
        match effect:
            case do.SendOrder(worker_id, order):
                self._fleet.send(worker_id, order)
            case do.CancelAttempt(worker_id, attempt_id):
                self._fleet.cancel(worker_id, attempt_id)
            case do.ProbeWorker(worker_id):
                self._fleet.probe(worker_id)
