"""Stand-ins for workers: many in one Ray actor, each of which only waits where a worker would render."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

import ray

from farm.cluster import Slot
from farm.cluster.rays import RayWorker
from farm.domain.scene import Blob, LayerReport, SceneReport
from farm.domain.work import Order, RenderClass, Report, Result, Role, Seconds, StoredFile, WorkerInfo
from workers.outbox import Outbox

CLASS = RenderClass(blender="5.2.3 stand-in", device="CPU", kernel="avx2")
_BLOB = Blob(sha256="0" * 64, bytes=1)
_FILES = ((Role.OUTPUT, ".png"), (Role.PREVIEW, ".jpg"), (Role.LOG, ".txt"))


class Crowd:
    """The stand-ins of one process. An order is answered after ``mean`` seconds, half to one and a half.

    A result's notes are two times of the machine's clock, which all its processes share: when its order
    had arrived, and when the result was ready.
    """

    def __init__(self, names: list[str], mean: float, frames: int, seed: int) -> None:
        self._names = names
        self._mean = mean
        self._frames = frames
        self._random = random.Random(seed)  # noqa: S311  delays, the same in each run
        self._outboxes = [Outbox() for _ in names]
        self._running: list[str | None] = [None] * len(names)
        self._tasks: set[asyncio.Task[None]] = set()

    async def info(self, index: int) -> dict[str, Any]:
        info = WorkerInfo(
            worker_id=self._names[index],
            host="here",
            pid=1,
            device="CPU",
            device_name="stand-in",
            threads=1,
            memory=1 << 34,
            render_class=CLASS,
            sandboxed=True,
        )
        return info.model_dump(mode="json")

    async def attempts(self, index: int) -> list[str]:
        running = self._running[index]
        return [*self._outboxes[index].ended(), *([running] if running else [])]

    async def start(self, index: int, order: dict[str, Any]) -> None:
        arrived = time.monotonic()
        if self._running[index] is not None:
            raise ValueError("it is busy")
        self._running[index] = order["attempt_id"]
        task = asyncio.create_task(self._work(index, order, arrived))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def cancel(self, index: int, attempt_id: str) -> None:
        """Nothing is cancelled here: it ends soon enough."""

    async def reports(
        self, index: int, after: int, wait: float, order: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        if order is not None:
            await self.start(index, order)
        found = await self._outboxes[index].read(after, wait)
        return [report.model_dump(mode="json") for report in found]

    async def _work(self, index: int, order: dict[str, Any], arrived: float) -> None:
        if self._mean:
            await asyncio.sleep(self._mean * self._random.uniform(0.5, 1.5))
        result = Result(
            files=() if order["kind"] == "inspect" else _files(order["prefix"]),
            seconds=Seconds(render=self._mean, total=self._mean),
            render_class=CLASS,
            report=_scene(self._frames) if order["kind"] == "inspect" else None,
            notes=(repr(arrived), repr(time.monotonic())),
        )
        self._running[index] = None
        self._outboxes[index].end(order["attempt_id"], result)


@dataclass
class Timings:
    """Seconds of each order: how long its worker had waited for it."""

    handed: list[float] = field(default_factory=list)  # report arrived here → order handed to Ray
    arrived: list[float] = field(default_factory=list)  # report ready there → order arrived there
    orders: list[float] = field(default_factory=list)  # when each was handed over


class StandIn(RayWorker):
    """The dispatcher's handle of a stand-in: the real one, with a clock in it."""

    def __init__(self, crowd: Any, index: int, timings: Timings) -> None:
        super().__init__(_Part(crowd, index))
        self._timings = timings
        self._free: float | None = None  # since when, as far as this process knows
        self._ready: float | None = None  # when the last result was ready there

    async def start(self, order: Order) -> None:
        self._hands_over()
        await super().start(order)

    async def reports(self, after: int, wait: float, order: Order | None = None) -> list[Report]:
        if order is not None:
            self._hands_over()
        found = await super().reports(after, wait, order)
        for report in found:
            if report.result is not None:
                arrived, ready = map(float, report.result.notes)
                if self._ready is not None:
                    self._timings.arrived.append(arrived - self._ready)
                self._ready, self._free = ready, time.monotonic()
        return found

    def _hands_over(self) -> None:
        now = time.monotonic()
        if self._free is not None:
            self._timings.handed.append(now - self._free)
        self._timings.orders.append(now)


class CrowdCluster:
    """``count`` stand-ins, spread over a few processes of a running Ray."""

    def __init__(self, count: int, processes: int, mean: float, frames: int) -> None:
        self.timings = Timings()
        names = [f"stand-in-{number + 1}" for number in range(count)]
        shares = [names[n::processes] for n in range(processes)]
        actor = ray.remote(Crowd).options(num_cpus=0, max_concurrency=4 * count)
        self._places: dict[str, tuple[Any, int]] = {}
        for seed, share in enumerate(shares):
            crowd = actor.remote(share, mean, frames, seed)
            self._places |= {name: (crowd, index) for index, name in enumerate(share)}

    async def slots(self) -> list[Slot]:
        return [Slot(name, "node", gpu=False, threads=1) for name in self._places]

    async def worker(self, slot: Slot) -> StandIn:
        return StandIn(*self._places[slot.worker_id], self.timings)


class _Part:
    """One of a crowd, called as an actor is."""

    def __init__(self, crowd: Any, index: int) -> None:
        self._crowd, self._index = crowd, index

    def __getattr__(self, name: str) -> Any:
        return _Call(getattr(self._crowd, name), self._index)


@dataclass(frozen=True)
class _Call:
    method: Any
    index: int

    def remote(self, *arguments: object) -> Any:
        return self.method.remote(self.index, *arguments)


def _files(prefix: str) -> tuple[StoredFile, ...]:
    return tuple(
        StoredFile(role=role, name=f"frame{end}", key=f"{prefix}frame{end}", blob=_BLOB)
        for role, end in _FILES
    )


def _scene(frames: int) -> SceneReport:
    return SceneReport.model_validate(
        {
            "scene": "Scene",
            "scenes": ("Scene",),
            "camera": "Camera",
            "cameras": ("Camera",),
            "frame_start": 1,
            "frame_end": frames,
            "full_width": 1920,
            "full_height": 1080,
            "percentage": 100,
            "engine": "CYCLES",
            "samples": 64,
            "file_format": "PNG",
            "layers": (LayerReport(name="ViewLayer", passes=("Combined",)),),
        }
    )
