"""What a worker is: asked of a render process once, and of the machine."""

from __future__ import annotations

import asyncio
import os
import platform
from pathlib import Path

from farm.domain.errors import Unavailable
from farm.domain.work import WorkerInfo
from workers import telemetry
from workers.children import Child
from workers.devices import (
    device_name,
    driven,
    driver,
    gpu_memory,
    render_class,
    worker_device,
)
from workers.failures import AttemptFailed
from workers.launch import Folders, launch
from workers.logs import AttemptLog
from workers.machine import Machine
from workers.protocol import Ready
from workers.runtimes import Runtime
from workers.session import Ground


class Identity:
    """Asks a render process of ``runtime``, in the worker's own ``folder``. To be used in one event loop."""

    def __init__(self, ground: Ground, runtime: Runtime, machine: Machine, folder: Path) -> None:
        self.ready: Ready | None = None  # what it said, once it did
        self.asking: asyncio.Task[Ready] | None = None
        self._ground = ground
        self._runtime = runtime
        self._machine = machine
        self._folder = folder

    async def known(self) -> Ready:
        """What a render process says of itself, asked once; raises `AttemptFailed`."""
        if self.ready is None:
            if self.asking is None or self.asking.done():
                self.asking = asyncio.create_task(self._ask(), name="asking a render process what it is")
            self.ready = await asyncio.shield(self.asking)
        return self.ready

    async def info(self) -> WorkerInfo:
        """As it stands in the farm's books; raises `Unavailable` where its GPU is not there."""
        config = self._ground.config
        try:
            ready = await self.known()
            device = worker_device(config.device, ready)
        except AttemptFailed as failed:
            raise Unavailable(failed.what, failed.cure) from failed
        host = telemetry.host()
        return WorkerInfo(
            worker_id=config.worker_id,
            host=platform.node(),
            pid=os.getpid(),
            device=device,
            device_name=device_name(device, ready),
            threads=config.threads or host.threads,
            memory=host.memory,
            render_class=render_class(device, ready),
            sandboxed=self._ground.sandbox,
            tags=self._machine.tags,
            gpu_memory=gpu_memory(device),
            driver=driver(device),
            price=self._machine.price,
        )

    async def _ask(self) -> Ready:
        start = launch(
            "Blender",
            self._runtime,
            self._ground.modules.render,
            Folders(self._folder / "asking", self._ground.driver_cache),
            sandbox=self._ground.sandbox,
        )
        log = AttemptLog(self._folder / "logs" / "asking.txt")
        try:
            child = await Child.start(start, log, self._ground.patience)
            await child.kill()
            await asyncio.to_thread(driven)
            return child.ready
        finally:
            log.finish()
