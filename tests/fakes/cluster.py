"""The fake of the cluster seam: workers in this process that obey a script instead of Blender.

It passes the contract in `tests/e2e/test_cluster_contract.py`, as the real one does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from farm.cluster import Slot, WorkerGone
from farm.domain.work import Cause, Failure, Order, RenderClass, Report, Result, Seconds, WorkerInfo
from tests.unit.dispatch.play import AVX2, good_result, worker

type Script = Callable[[Order], Awaitable[Result | Failure]]


async def obedient(order: Order, render_class: RenderClass = AVX2) -> Result | Failure:
    """Everything succeeds at once."""
    await asyncio.sleep(0)
    return good_result(order, render_class).model_copy(update={"seconds": Seconds(total=1.0)})


class ScriptedWorker:
    def __init__(self, info: WorkerInfo, script: Script) -> None:
        self._info = info
        self._script = script
        self._running: dict[str, asyncio.Task[None]] = {}
        self._reports: list[Report] = []
        self._sequence = 0
        self._news = asyncio.Event()
        self.dead = False
        self.orders: list[Order] = []
        self.probes = 0
        self.ails = ""  # what a probe finds

    def _alive(self) -> None:
        if self.dead:
            raise WorkerGone("it was killed")

    async def info(self) -> WorkerInfo:
        self._alive()
        return self._info

    async def attempts(self) -> tuple[str, ...]:
        self._alive()
        unheard = [r.attempt_id for r in self._reports if r.result or r.failure]
        return (*unheard, *self._running)

    async def start(self, order: Order) -> None:
        self._alive()
        if self._running:
            raise ValueError("it is busy")
        self.orders.append(order)
        # Eager: a task that is cancelled before its first step never runs at all.
        asyncio.Task(self._run(order), loop=asyncio.get_running_loop(), eager_start=True)

    async def _run(self, order: Order) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running[order.attempt_id] = task
        try:
            answer = await self._script(order)
        except asyncio.CancelledError:
            answer = Failure(cause=Cause.CANCELLED, what="Cancelled.")
        del self._running[order.attempt_id]
        self._sequence += 1
        result = answer if isinstance(answer, Result) else None
        failure = answer if isinstance(answer, Failure) else None
        self._reports.append(
            Report(sequence=self._sequence, attempt_id=order.attempt_id, result=result, failure=failure)
        )
        self._news.set()

    async def cancel(self, attempt_id: str) -> None:
        self._alive()
        if task := self._running.get(attempt_id):
            task.cancel()
            await asyncio.wait([task])

    async def reports(self, after: int, wait: float, order: Order | None = None) -> list[Report]:
        self._alive()
        if order is not None:
            await self.start(order)
        self._reports = [report for report in self._reports if report.sequence > after]
        if not self._reports:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), wait)
            except TimeoutError:
                return []
        self._alive()
        return list(self._reports)

    async def probe(self) -> str:
        self._alive()
        if self._running:
            raise ValueError("it is busy")
        self.probes += 1
        await asyncio.sleep(0)
        return self.ails

    async def kill(self) -> None:
        self.dead = True
        for task in self._running.values():
            task.cancel()
        self._news.set()


class ScriptedCluster:
    """``places`` workers on one node; a dead one is replaced when it is asked for again."""

    def __init__(self, places: int = 1, script: Script = obedient) -> None:
        self.places = places
        self.script = script
        self.render_class = AVX2  # of workers from now on
        self.workers: dict[str, ScriptedWorker] = {}

    async def slots(self) -> list[Slot]:
        return [Slot(f"w{n + 1}", "node", gpu=False, threads=1) for n in range(self.places)]

    async def worker(self, slot: Slot) -> ScriptedWorker:
        found = self.workers.get(slot.worker_id)
        if found is None or found.dead:
            info = worker(slot.worker_id, render_class=self.render_class)
            found = self.workers[slot.worker_id] = ScriptedWorker(info, self.script)
        return found
