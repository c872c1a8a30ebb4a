"""The loop around the pure core: hears workers and users, commits, then acts.

Crash guarantee: everything the core decides in a turn is one transaction, checked against the
fenced epoch; effects come after its commit. A dispatcher killed at any moment leaves a database
from which the next one goes on: orders that were never sent are found missing on their workers,
results that were never committed are reported again, jobs and wishes that were never read are
still there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from farm.cluster import Cluster
from farm.dispatch import earlier
from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.core import Core
from farm.dispatch.fleet import Fleet, Told
from farm.dispatch.furnish import furnish, needs_furnishing
from farm.dispatch.journal import Journal
from farm.dispatch.policy import unknown_ahead
from farm.dispatch.recovery import load_job, load_state
from farm.domain.errors import TesseraError
from farm.domain.job import new_id
from farm.domain.states import JobState
from farm.storage import Storage
from farm.store import Database, events, head, jobs, workers

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2  # for new jobs and wishes
_FRESH_JOBS = 100  # taken up in one turn, at most
_BEAT_SECONDS = 2.0
_MEET_SECONDS = 90.0  # a worker's first start compiles nothing but may wait for a cold disk
_KEEP_PASSING_SECONDS = 600.0


class Dispatcher:
    """The head's one writer."""

    def __init__(
        self, store: Database, storage: Storage, cluster: Cluster, clock: Callable[[], float] = time.time
    ) -> None:
        """Take the next epoch and read back what has not ended; raises `Unavailable`."""
        self._store = store
        self._storage = storage
        self._clock = clock
        self._inbox: asyncio.Queue[Told] = asyncio.Queue()
        self._doomed: asyncio.Queue[list[str]] = asyncio.Queue()
        self._fleet = Fleet(cluster, self._inbox)
        self._last_beat = 0.0
        with store.write() as connection:
            self._epoch = head.take(connection, clock())
            workers.drop_all(connection)
            state = load_state(connection)
        self.core = Core(state, lambda: f"a{new_id(12)}")
        log.info("epoch %d, %d jobs to go on with", self._epoch, len(state.jobs))

    async def run(self) -> None:
        """Dispatch until cancelled. Raises `Fenced`, `Unavailable`, or OSError where the cluster is away."""
        work = (self._tend(), self._turn_forever(), self._delete_forever())
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
        """Stop listening to the workers; they go on."""
        await self._fleet.close()

    async def _tend(self) -> None:
        await self._fleet.tend()
        await self._fleet.meet(_MEET_SECONDS)
        await self._inbox.put(Told([told.FleetMet()]))
        while True:
            await asyncio.sleep(_BEAT_SECONDS)
            await self._fleet.tend()

    async def _turn_forever(self) -> None:
        while True:
            messages = await self._hear()
            effects, doomed = await asyncio.to_thread(self._turn, messages)
            for message in messages:
                message.committed.set()
            for effect in effects:
                self._act(effect)
            if doomed:
                self._doomed.put_nowait(doomed)

    async def _delete_forever(self) -> None:
        """Apart from the turns: storage that is away must not keep workers waiting."""
        while True:
            doomed = await self._doomed.get()
            await asyncio.to_thread(self._delete, doomed)

    async def _hear(self) -> list[Told]:
        """What workers said; after a while, nothing: it is time to look for new jobs."""
        messages: list[Told] = []
        try:
            messages.append(await asyncio.wait_for(self._inbox.get(), _LOOK_SECONDS))
        except TimeoutError:
            return messages
        while not self._inbox.empty():
            messages.append(self._inbox.get_nowait())
        return messages

    def _turn(self, messages: list[Told]) -> tuple[list[do.Effect], list[str]]:
        """One step: everything that happened, decided and committed. Returns what is left to do."""
        now = self._clock()
        with self._store.read() as connection:
            wishes = events.waiting_intents(connection)
            waiting = jobs.ids_in_states(connection, [JobState.WAITING])
            new = [job_id for job_id in waiting if job_id not in self.core.state.jobs][:_FRESH_JOBS]
            fresh = [load_job(connection, row) for row in jobs.by_id(connection, new)]
            heard: list[told.Event] = [
                told.EarlierFound(job.id, earlier.look(connection, job, numbers))
                for job in (*self.core.state.jobs.values(), *fresh)
                if (numbers := unknown_ahead(job))
            ]
        instructions = [i for job in fresh for i in self.core.take_up(job)]
        heard += [event for message in messages for event in message.events]
        heard += [told.CancelAsked(wish.job_id) for wish in wishes]
        for event in heard:
            instructions += self.core.handle(event, now)
        instructions += self.core.assign(now)
        beat_due = now - self._last_beat >= _BEAT_SECONDS
        if not (messages or instructions or wishes or beat_due):
            return [], []
        # Also where nothing is to be written: what is heard is acknowledged only by the head that counts.
        with self._store.write() as connection:
            head.check(connection, self._epoch)
            journal = Journal(connection, now)
            effects: list[do.Effect] = []
            for instruction in instructions:
                if isinstance(instruction, do.SendOrder | do.CancelAttempt | do.ProbeWorker):
                    effects.append(instruction)
                else:
                    journal.write(instruction)
            events.take_up(connection, wishes)
            if beat_due:
                head.beat(connection, now)
                events.forget_passing(connection, now - _KEEP_PASSING_SECONDS)
                self._last_beat = now
        return self._furnished(effects), journal.doomed

    def _furnished(self, effects: list[do.Effect]) -> list[do.Effect]:
        """Orders with what they need of the database; read after the commit, so that nobody waits for it."""
        lacking = [e for e in effects if isinstance(e, do.SendOrder) and needs_furnishing(e.order)]
        if not lacking:
            return effects
        with self._store.read() as connection:
            full = {
                id(effect): replace(effect, order=furnish(connection, effect.order)) for effect in lacking
            }
        return [full.get(id(effect), effect) for effect in effects]

    def _act(self, effect: do.Effect) -> None:
        match effect:
            case do.SendOrder(worker_id, order):
                self._fleet.send(worker_id, order)
            case do.CancelAttempt(worker_id, attempt_id):
                self._fleet.cancel(worker_id, attempt_id)

    def _delete(self, keys: list[str]) -> None:
        try:
            self._storage.delete(keys)
        except TesseraError as error:
            # Their rows are gone, so nothing points at them; they only take up room.
            log.warning("%d pieces could not be deleted: %s", len(keys), error.what)
