"""The workers that the dispatcher listens to: finds them, starts them, hears them out.

A worker's reports are acknowledged only after what they said was committed, so a dispatcher that
dies in between is told again. Everything a worker says reaches the core through `inbox`.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from farm.cluster import Cluster, Slot, WorkerGone, WorkerHandle
from farm.dispatch import events as told
from farm.domain.work import Order, Report

log = logging.getLogger(__name__)

#: How long a worker holds a call open when it has nothing to say, and how late it may be. Seconds.
_POLL, _GRACE = 20.0, 40.0
_LONGEST_BACKOFF = 30.0


@dataclass(slots=True)
class Told:
    """Events from one worker; `committed` is set once they are in the database."""

    events: list[told.Event]
    committed: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Place:
    """A slot and what has become of it."""

    slot: Slot
    tending: asyncio.Task[None]
    handle: WorkerHandle | None = None


class Fleet:
    """One task a slot; `tend` keeps them in step with the cluster."""

    def __init__(self, cluster: Cluster, inbox: asyncio.Queue[Told]) -> None:
        self._cluster = cluster
        self._inbox = inbox
        self._places: dict[str, _Place] = {}
        self._met: dict[str, asyncio.Event] = {}
        self._errands: set[asyncio.Task[None]] = set()

    async def tend(self) -> None:
        """Start a worker at every slot that has none, let go of those whose node is gone.

        Raises OSError where the cluster is away.
        """
        for place in self._places.values():
            if place.tending.done():
                place.tending.result()  # ends only by a fault of ours: let it be seen
        slots = {slot.worker_id: slot for slot in await self._cluster.slots()}
        for worker_id in self._places.keys() - slots.keys():
            place = self._places.pop(worker_id)
            place.tending.cancel()
            await self._inbox.put(Told([told.WorkerLost(worker_id)]))
        for worker_id in slots.keys() - self._places.keys():
            met = self._met[worker_id] = asyncio.Event()
            slot = slots[worker_id]
            self._places[worker_id] = _Place(slot, asyncio.create_task(self._serve(slot, met)))

    async def meet(self, seconds: float) -> None:
        """Wait until each slot's worker has joined or failed to once, at most so long."""
        waiting = [asyncio.create_task(met.wait()) for met in self._met.values()]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=seconds)
            for task in late:
                task.cancel()

    def send(self, worker_id: str, order: Order) -> None:
        """Give a worker its order; where it does not arrive, the core is told."""
        self._errand(self._send(worker_id, order))

    def cancel(self, worker_id: str, attempt_id: str) -> None:
        """Have a worker stop an attempt."""
        self._errand(self._cancel(worker_id, attempt_id))

    async def close(self) -> None:
        """Stop listening; the workers go on with what they do."""
        tasks = [place.tending for place in self._places.values()] + list(self._errands)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _errand(self, work: asyncio._CoroutineLike[None]) -> None:
        task = asyncio.ensure_future(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def _serve(self, slot: Slot, met: asyncio.Event) -> None:
        """Keep one worker at a slot, for as long as the slot is there."""
        backoff = 1.0
        while True:
            try:
                handle = await self._cluster.worker(slot)
                info = await handle.info()
                attempts = await handle.attempts()
            except WorkerGone as gone:
                log.warning("worker %s could not be started: %s", slot.worker_id, gone)
                met.set()
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, _LONGEST_BACKOFF)
                continue
            backoff = 1.0
            self._places[slot.worker_id].handle = handle
            await self._inbox.put(Told([told.WorkerJoined(info, attempts)]))
            met.set()
            try:
                await self._listen(handle)
            except WorkerGone as gone:
                log.warning("worker %s is gone: %s", slot.worker_id, gone)
            self._places[slot.worker_id].handle = None
            await self._inbox.put(Told([told.WorkerLost(slot.worker_id)]))

    async def _listen(self, handle: WorkerHandle) -> None:
        after = 0
        while True:
            try:
                reports = await asyncio.wait_for(handle.reports(after, _POLL), _POLL + _GRACE)
            except TimeoutError:
                await handle.kill()
                raise WorkerGone(f"it has not answered for {_POLL + _GRACE:.0f} seconds") from None
            if reports:
                message = Told([event_of(report) for report in reports])
                await self._inbox.put(message)
                await message.committed.wait()
                after = reports[-1].sequence

    async def _send(self, worker_id: str, order: Order) -> None:
        place = self._places.get(worker_id)
        try:
            if place is None or place.handle is None:
                raise WorkerGone(f"{worker_id} is not there")
            await place.handle.start(order)
        except (WorkerGone, ValueError) as error:
            log.warning("order %s did not reach %s: %s", order.attempt_id, worker_id, error)
            await self._inbox.put(Told([told.OrderLost(order.attempt_id)]))

    async def _cancel(self, worker_id: str, attempt_id: str) -> None:
        place = self._places.get(worker_id)
        if place is not None and place.handle is not None:
            try:
                await place.handle.cancel(attempt_id)
            except WorkerGone:
                log.info("worker %s is gone, and attempt %s with it", worker_id, attempt_id)


def event_of(report: Report) -> told.Event:
    """What a report tells the core."""
    if report.result is not None:
        return told.Succeeded(report.attempt_id, report.result)
    if report.failure is not None:
        return told.Failed(report.attempt_id, report.failure)
    if report.progress is not None:
        return told.Progressed(report.attempt_id, report.progress)
    raise ValueError(f"report {report.sequence} of attempt {report.attempt_id} is empty")
