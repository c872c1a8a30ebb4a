"""A worker with fake children, real processes and a store in memory."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from farm.domain import keys
from farm.domain.plan import Plan
from farm.domain.scene import Blob, SceneManifest, SceneReport
from farm.domain.task import TaskKey
from farm.domain.work import Order, PieceRef
from farm.storage import MemoryStorage
from tests.processes import forget_others
from workers.lender import Senses
from workers.machine import Machine
from workers.session import Modules
from workers.worker import Worker

FAKE = Modules(*("workers.fake_child",) * 3)
NOTHING_SAID = Machine()
PLAN = Plan(frames="1-3", width=64, height=36, reason="test")
TILED = Plan(frames="1-3", width=64, height=36, grid="2x2", overlap=4, reason="test")


class Bench:
    """Makes orders, and follows the attempts of one worker to their ends."""

    def __init__(self, worker: Worker, storage: MemoryStorage) -> None:
        self.worker = worker
        self.storage = storage
        self.seen: list[dict[str, Any]] = []
        self._count = 0

    def scene(self, text: str | bytes = "", **others: bytes) -> SceneManifest:
        """A scene, stored; ``others`` are further files, ``__`` standing for a slash."""
        files = {"shot.blend": text.encode() if isinstance(text, str) else text}
        files |= {name.replace("__", "/"): data for name, data in others.items()}
        blobs = {name: self.blob(data) for name, data in files.items()}
        return SceneManifest(main="shot.blend", files=blobs)

    def blob(self, data: bytes) -> Blob:
        sha256 = hashlib.sha256(data).hexdigest()
        self.storage.put_stream(keys.blob(sha256), [data])
        return Blob(sha256=sha256, bytes=len(data))

    def order(
        self,
        task: str,
        manifest: SceneManifest,
        plan: Plan | None = PLAN,
        pieces: tuple[PieceRef, ...] = (),
        report: SceneReport | None = None,
        **settings: Any,
    ) -> dict[str, Any]:
        self._count += 1
        attempt = f"attempt{self._count}"
        return Order.model_validate(
            {
                "attempt_id": attempt,
                "task": task,
                "kind": TaskKey.parse(task).kind,
                "scene_id": manifest.scene_id,
                "manifest": manifest,
                "settings": settings,
                "prefix": f"jobs/{task}/{attempt}/",
                "plan": plan,
                "report": report,
                "pieces": pieces,
            }
        ).model_dump(mode="json")

    async def end(self, seconds: float = 60) -> dict[str, Any]:
        """The report that ends the running attempt; all reports seen are acknowledged on the way."""
        async with asyncio.timeout(seconds):
            after = self.seen[-1]["sequence"] if self.seen else 0
            while True:
                for report in await self.worker.reports(after, 5):
                    self.seen.append(report)
                    after = report["sequence"]
                    if report["result"] or report["failure"]:
                        await self.worker.reports(after, 0)
                        return report

    async def run(self, task: str, manifest: SceneManifest, **more: Any) -> dict[str, Any]:
        """Do an order to its end."""
        await self.worker.start(self.order(task, manifest, **more))
        return await self.end()

    async def failure(self, task: str, manifest: SceneManifest, **more: Any) -> dict[str, Any]:
        report = await self.run(task, manifest, **more)
        assert report["failure"] is not None, report["result"]
        return report["failure"]

    async def result(self, task: str, manifest: SceneManifest, **more: Any) -> dict[str, Any]:
        report = await self.run(task, manifest, **more)
        assert report["result"] is not None, report["failure"]
        return report["result"]

    async def pieces(self, manifest: SceneManifest, frame: int = 1, **more: Any) -> tuple[PieceRef, ...]:
        """Render all tiles of a frame."""
        found = []
        for tile in range(more.get("plan", TILED).pieces_per_frame):
            result = await self.result(f"job/{frame}/tile-{tile}", manifest, **{"plan": TILED, **more})
            [piece] = [file for file in result["files"] if file["role"] == "piece"]
            found.append(
                PieceRef(tile=tile, key=piece["key"], blob=piece["blob"], render_class=result["render_class"])
            )
        return tuple(found)

    async def progress(self, phase: str, sample: int = 0) -> None:
        """Wait until the running attempt tells of ``phase``, at least ``sample`` samples in."""
        after = self.seen[-1]["sequence"] if self.seen else 0
        async with asyncio.timeout(30):
            while True:
                for report in await self.worker.reports(after, 5):
                    self.seen.append(report)
                    after = report["sequence"]
                    told = report["progress"]
                    if report["away"] is not None:
                        continue
                    assert told is not None, report
                    if told["phase"] == phase and told["sample"] >= sample:
                        return


@pytest.fixture(autouse=True)
def own_processes() -> None:
    """`family` speaks of what a test itself has started."""
    forget_others()


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
async def bench(tmp_path: Path, storage: MemoryStorage) -> AsyncIterator[Bench]:
    """Children without a sandbox: the tests of the sandbox have their own."""
    worker = Worker(
        {"worker_id": "w1", "scratch": str(tmp_path), "sandbox": False}, storage=storage, modules=FAKE
    )
    yield Bench(worker, storage)
    await worker.close()


@pytest.fixture
async def make_bench(
    tmp_path: Path, storage: MemoryStorage
) -> AsyncIterator[Callable[..., Awaitable[Bench]]]:
    """Benches with settings of their own; ``modules=None`` for the real children."""
    made: list[Worker] = []

    async def make(
        modules: Modules | None = FAKE,
        machine: Machine = NOTHING_SAID,
        senses: Senses | None = None,
        **config: Any,
    ) -> Bench:
        base = {"worker_id": "w1", "scratch": str(tmp_path), "sandbox": False}
        worker = Worker(base | config, storage=storage, modules=modules, machine=machine, senses=senses)
        made.append(worker)
        return Bench(worker, storage)

    yield make
    for worker in made:
        await worker.close()
