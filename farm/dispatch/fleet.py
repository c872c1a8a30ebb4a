"""The workers that the dispatcher listens to: finds them, starts them, hears them out.

A worker's reports are acknowledged only after what they said was committed, so a dispatcher that
dies in between is told again. Everything a worker says reaches the core through `inbox`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field

from farm.cluster import Cluster, Slot, WorkerGone, WorkerHandle
from farm.dispatch import events as told
from farm.domain.work import Order, Report

log = logging.getLogger(__name__)

#: How long a worker holds a call open when it has nothing to say, and how late it may be. Seconds.
_POLL, _GRACE = 20.0, 20.0
#: A worker that has not said what it is after so long never will: it hangs, or has no place to run.
_START = 300.0
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
    handle: WorkerHandle | None = None
    met: asyncio.Event = field(default_factory=asyncio.Event)  # it has joined or failed to, once


class Fleet:
    """One task a slot; `tend` keeps them in step with the cluster."""

    def __init__(self, cluster: Cluster, inbox: asyncio.Queue[Told]) -> None:
        self._cluster = cluster
        self._inbox = inbox
        self._places: dict[str, _Place] = {}
        self._tending: dict[str, asyncio.Task[None]] = {}
        self._errands: set[asyncio.Task[None]] = set()

    async def tend(self) -> None:
        """Start a worker at every slot that has none, let go of those whose node is gone.

        Raises OSError where the cluster is away.
        """
        for tending in self._tending.values():
            if tending.done():
                tending.result()  # ends only by a fault of ours: let it be seen
        slots = {slot.worker_id: slot for slot in await self._cluster.slots()}
        for worker_id in self._places.keys() - slots.keys():
            del self._places[worker_id]
            self._tending.pop(worker_id).cancel()
            await self._inbox.put(Told([told.WorkerLost(worker_id)]))
        for worker_id in slots.keys() - self._places.keys():
            place = self._places[worker_id] = _Place(slots[worker_id])
            self._tending[worker_id] = asyncio.create_task(self._serve(place))

    async def meet(self, seconds: float) -> None:
        """Wait until each slot's worker has joined or failed to once, at most so long."""
        waiting = [asyncio.create_task(place.met.wait()) for place in self._places.values()]
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
        tasks = [*self._tending.values(), *self._errands]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _errand(self, work: asyncio._CoroutineLike[None]) -> None:
        task = asyncio.ensure_future(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def _serve(self, place: _Place) -> None:
        """Keep one worker at a place, for as long as its slot is there."""
        worker_id = place.slot.worker_id
        backoff = 1.0
        while True:
            try:
                handle, joined = await self._join(place.slot)
            except WorkerGone as gone:
                log.warning("worker %s could not be started: %s", worker_id, gone)
                place.met.set()
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, _LONGEST_BACKOFF)
                continue
            backoff = 1.0
            place.handle = handle
            await self._inbox.put(Told([joined]))
            place.met.set()
            try:
                await self._listen(handle)
            except WorkerGone as gone:
                log.warning("worker %s is gone: %s", worker_id, gone)
            place.handle = None
            await self._inbox.put(Told([told.WorkerLost(worker_id)]))

    async def _join(self, slot: Slot) -> tuple[WorkerHandle, told.WorkerJoined]:
        """The worker at a slot, and what it is and does. Raises `WorkerGone`."""
        handle = await self._cluster.worker(slot)
        try:
            async with asyncio.timeout(_START):
                return handle, told.WorkerJoined(await handle.info(), await handle.attempts())
        except TimeoutError:
            await _kill(handle)
            raise WorkerGone(f"it has not said what it is for {_START:.0f} seconds") from None

    async def _listen(self, handle: WorkerHandle) -> None:
        after = 0
        while True:
            try:
                reports = await asyncio.wait_for(handle.reports(after, _POLL), _POLL + _GRACE)
            except TimeoutError:
                await _ask_again(handle)
                continue
            if reports:
                message = Told([event_of(report) for report in reports])
                await self._inbox.put(message)
                await message.committed.wait()
                after = reports[-1].sequence

    async def _send(self, worker_id: str, order: Order) -> None:
        place = self._places.get(worker_id)
        handle = None if place is None else place.handle
        try:
            if handle is None:
                raise WorkerGone(f"{worker_id} is not there")
            await handle.start(order)
        except (WorkerGone, ValueError) as error:
            log.warning("order %s did not reach %s: %s", order.attempt_id, worker_id, error)
            # It may have the order all the same, or be at another that nobody waits for. A new worker
            # is at nothing; this one had no work that counts.
            if handle is not None:
                await _kill(handle)
            await self._inbox.put(Told([told.OrderLost(order.attempt_id)]))

    async def _cancel(self, worker_id: str, attempt_id: str) -> None:
        place = self._places.get(worker_id)
        if place is not None and place.handle is not None:
            try:
                await place.handle.cancel(attempt_id)
            except WorkerGone:
                log.info("worker %s is gone, and attempt %s with it", worker_id, attempt_id)


async def _ask_again(handle: WorkerHandle) -> None:
    """A late answer may be this process's own fault: it was stopped, and its clock was not.

    So a worker is killed, and `WorkerGone` raised, only where it does not answer a second, plain question.
    """
    try:
        await asyncio.wait_for(handle.attempts(), _GRACE)
    except TimeoutError:
        await _kill(handle)
        raise WorkerGone(f"it has not answered for {_POLL + 2 * _GRACE:.0f} seconds") from None


async def _kill(handle: WorkerHandle) -> None:
    with contextlib.suppress(WorkerGone):
        await handle.kill()


def event_of(report: Report) -> told.Event:
    """What a report tells the core."""
    if report.result is not None:
        return told.Succeeded(report.attempt_id, report.result)
    if report.failure is not None:
        return told.Failed(report.attempt_id, report.failure)
    if report.progress is not None:
        return told.Progressed(report.attempt_id, report.progress)
    raise ValueError(f"report {report.sequence} of attempt {report.attempt_id} is empty")
