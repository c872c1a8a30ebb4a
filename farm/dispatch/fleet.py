"""The workers that the dispatcher listens to: finds them, starts them, hears them out.

Each worker holds a lease on what it was given, and renews it by answering: the dispatcher always has
one question open (`WorkerHandle.reports`, a long poll), which a worker answers at once when it has
something to tell, and after `_POLL` seconds when it has not. One whose answer is `_GRACE` late is asked
a second, plain question; without an answer to that its lease has ended: the core hears `WorkerLost`, and
others get what it was at. It is not killed, as it may only be out of reach: it goes on being asked, and
once it answers it joins again, with the attempts that it still has. So does one of which it is not known
whether an order reached it. Killed is one that answers nothing for `_START` seconds while its node lives.

The next order of a worker that has just reported goes out with the question after it, in one call: calls
to Ray bound how many tasks a second there can be. One that had nothing to report is called for itself.

A worker's reports are acknowledged only after what they said was committed, so a dispatcher that dies
in between, or an answer that is lost on its way, costs nothing: it is told again, in the same order, by
number. Everything a worker says reaches the core through `inbox`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field

from farm.cluster import Cluster, Slot, WorkerGone, WorkerHandle
from farm.dispatch import events as told
from farm.domain.work import Order, Report

log = logging.getLogger(__name__)

#: How long a worker holds a call open when it has nothing to say, and how late it may be. Seconds.
_POLL, _GRACE = 10.0, 8.0
#: A worker that has not said what it is after so long never will: it hangs, or has no place to run.
_START = 300.0
#: The small scene of a probe takes seconds, after a start of Blender.
_PROBE = 300.0
_SHORTEST_BACKOFF, _LONGEST_BACKOFF = 1.0, 30.0


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
    listening: asyncio.Task[None] | None = None
    heard: bool = False  # its reports wait to be committed, then it is asked again …
    order: Order | None = None  # … and given this


class _Unsure(Exception):
    """It is not known whether a worker has its order."""


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
        place = self._places.get(worker_id)
        if place is not None and place.heard and place.order is None:
            place.order = order
            return
        self._errand(self._send(worker_id, order))

    def cancel(self, worker_id: str, attempt_id: str) -> None:
        """Have a worker stop an attempt."""
        self._errand(self._cancel(worker_id, attempt_id))

    def probe(self, worker_id: str) -> None:
        """Have a worker show that it is well; the core is told."""
        self._errand(self._probe(worker_id))

    async def close(self) -> None:
        """Stop listening; the workers go on with what they do."""
        tasks = [*self._tending.values(), *self._errands]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _errand(self, work: Coroutine[None, None, None]) -> None:
        """Have it done beside the rest; its first step, the call to Ray, is taken at once."""
        task = asyncio.Task(work, loop=asyncio.get_running_loop(), eager_start=True)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def _serve(self, place: _Place) -> None:
        """Keep one worker at a place, for as long as its slot is there."""
        worker_id = place.slot.worker_id
        backoff, failed = _SHORTEST_BACKOFF, False
        while True:
            try:
                handle, joined = await self._join(place)
            except WorkerGone as gone:
                log.warning("worker %s could not be started: %s", worker_id, gone)
                if failed:  # at first it may be only the last one, which is still at dying
                    await self._inbox.put(Told([told.WorkerFailed(worker_id, str(gone))]))
                failed = True
                place.met.set()
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, _LONGEST_BACKOFF)
                continue
            backoff, failed = _SHORTEST_BACKOFF, False
            place.handle = handle
            await self._inbox.put(Told([joined]))
            place.met.set()
            log.warning("worker %s: %s", worker_id, await self._heard_out(place, handle))
            place.handle = None
            await self._inbox.put(Told([told.WorkerLost(worker_id)]))

    async def _join(self, place: _Place) -> tuple[WorkerHandle, told.WorkerJoined]:
        """The worker at a place, and what it is and does. Raises `WorkerGone`."""
        handle = await self._cluster.worker(place.slot)
        try:
            async with asyncio.timeout(_START):
                while True:  # what was asked while it was out of reach may never be answered
                    with contextlib.suppress(TimeoutError):
                        info = await asyncio.wait_for(handle.info(), _GRACE)
                        return handle, told.WorkerJoined(info, await handle.attempts())
        except TimeoutError:
            await _kill(handle)
            raise WorkerGone(f"it has not said what it is for {_START:.0f} seconds") from None

    async def _heard_out(self, place: _Place, handle: WorkerHandle) -> str:
        """Listen to a worker for as long as it answers; why it is not counted on any more."""
        place.heard, place.order = False, None
        place.listening = asyncio.create_task(self._listen(place, handle))
        try:
            await place.listening
        except WorkerGone as gone:
            return f"gone: {gone}"
        except TimeoutError:
            return f"no answer for {_POLL + 2 * _GRACE:.0f} seconds"
        except _Unsure as unsure:
            return str(unsure)
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                raise
        finally:
            place.heard = False
        return "it is not known whether it has its order"

    async def _listen(self, place: _Place, handle: WorkerHandle) -> None:
        """Hear a worker's reports; raises as `_ask`."""
        after = 0
        while True:
            order, place.order = place.order, None
            try:
                reports = await self._ask(handle, after, order)
            except _Unsure as unsure:
                if order is not None:
                    await self._order_lost(order, place.slot.worker_id, unsure)
                raise
            if reports:
                message = Told([event_of(place.slot.worker_id, report) for report in reports])
                place.heard = True
                await self._inbox.put(message)
                await message.committed.wait()
                place.heard = False
                after = reports[-1].sequence

    async def _ask(self, handle: WorkerHandle, after: int, order: Order | None) -> list[Report]:
        """One question to a worker, with the order that waits for it.

        Raises `WorkerGone`, TimeoutError where its lease has ended, or `_Unsure`.
        """
        try:
            return await asyncio.wait_for(handle.reports(after, _POLL, order), _POLL + _GRACE)
        except TimeoutError:
            # It may be this process's own fault, which was stopped while its clock was not.
            held = await asyncio.wait_for(handle.attempts(), _GRACE)
            if order is not None and order.attempt_id not in held:
                raise _Unsure("it does not have its order") from None
            return []
        except ValueError as refused:
            if order is None:
                raise
            raise _Unsure(f"it refuses its order: {refused}") from refused

    async def _order_lost(self, order: Order, worker_id: str, error: Exception) -> None:
        log.warning("order %s did not reach %s: %s", order.attempt_id, worker_id, error)
        await self._inbox.put(Told([told.OrderLost(order.attempt_id)]))

    async def _send(self, worker_id: str, order: Order) -> None:
        place = self._places.get(worker_id)
        handle = None if place is None else place.handle
        try:
            if handle is None:
                raise WorkerGone(f"{worker_id} is not there")
            await handle.start(order)
        except (WorkerGone, ValueError) as error:
            await self._order_lost(order, worker_id, error)
            # It may have the order all the same, or be at another that nobody waits for: it is met again.
            if place is not None and place.handle is handle and place.listening is not None:
                place.listening.cancel()

    async def _cancel(self, worker_id: str, attempt_id: str) -> None:
        place = self._places.get(worker_id)
        if place is not None and place.handle is not None:
            try:
                await place.handle.cancel(attempt_id)
            except WorkerGone:
                log.info("worker %s is gone, and attempt %s with it", worker_id, attempt_id)

    async def _probe(self, worker_id: str) -> None:
        place = self._places.get(worker_id)
        handle = None if place is None else place.handle
        wrong: str | None = None
        if handle is not None:
            try:
                wrong = await asyncio.wait_for(handle.probe(), _PROBE)
            except TimeoutError:
                wrong = f"A small scene was not rendered within {_PROBE:.0f} seconds."
            except ValueError as error:
                log.info("worker %s is not probed now: %s", worker_id, error)
            except WorkerGone as gone:
                wrong = str(gone)
        await self._inbox.put(Told([told.WorkerProbed(worker_id, wrong)]))


async def _kill(handle: WorkerHandle) -> None:
    with contextlib.suppress(WorkerGone):
        await handle.kill()


def event_of(worker_id: str, report: Report) -> told.Event:
    """What a report of a worker tells the core."""
    if report.result is not None:
        return told.Succeeded(report.attempt_id, report.result)
    if report.failure is not None:
        return told.Failed(report.attempt_id, report.failure)
    if report.progress is not None:
        return told.Progressed(report.attempt_id, report.progress)
    if report.away is not None:
        return told.WorkerAway(worker_id, report.away)
    raise ValueError(f"report {report.sequence} of attempt {report.attempt_id} is empty")
