"""A probe of a worker: a small scene of ours, rendered by a process that is started for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from farm.domain.work import Cause
from workers import scene_folder
from workers.children import Child
from workers.failures import AttemptFailed, plain
from workers.launch import Folders, launch
from workers.logs import AttemptLog
from workers.protocol import Probe
from workers.runtimes import Runtime
from workers.session import Ground


async def probed(ground: Ground, runtime: Runtime, device: str, home: Path) -> None:
    """Render the scene on ``device``; raises `AttemptFailed` where that goes wrong or takes too long.

    ``home`` is the worker's folder; nothing of the probe stays there, and no process of it, also where the
    caller is cancelled.
    """
    folder = home / "probing"
    log = AttemptLog(home / "logs" / "probe.txt")
    folders = Folders(folder, ground.driver_cache)
    start = launch("Blender", runtime, ground.modules.render, folders, sandbox=ground.sandbox)
    config = ground.config
    try:
        async with asyncio.timeout(config.probe_seconds):
            child = await Child.start(start, log, ground.patience)
            try:
                done = await child.ask(Probe(device, str(folder), config.threads))
            finally:
                await child.kill()
    except TimeoutError:
        what = f"It has not rendered a small scene in {config.probe_seconds:.0f} s."
        raise AttemptFailed(Cause.HANG, what) from None
    finally:
        log.finish()
        await asyncio.to_thread(scene_folder.remove, folder)
    if done.device != device:
        what = f"Blender was to render with {device} but used “{plain(done.device, 40)}”."
        raise AttemptFailed(Cause.NO_DEVICE, what)
