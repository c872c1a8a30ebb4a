"""A worker that is killed outright takes its children with it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

_WORKER = """
import asyncio, hashlib, sys
from farm.domain import keys
from farm.domain.scene import Blob, SceneManifest
from farm.storage import MemoryStorage
from workers.session import Modules
from workers.worker import Worker

async def main(scratch, sandbox):
    storage, data = MemoryStorage(), b"renderframe = slow 1000"
    blob = Blob(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    storage.put_stream(keys.blob(blob.sha256), [data])
    fake = Modules("workers.fake_child", "workers.fake_child")
    config = {"worker_id": "w1", "scratch": scratch, "sandbox": sandbox}
    worker = Worker(config, storage=storage, modules=fake)
    await worker.start({
        "attempt_id": "a", "task": "job/1/whole", "kind": "frame", "scene_id": "s", "settings": {},
        "manifest": SceneManifest(main="a.blend", files={"a.blend": blob}).model_dump(), "prefix": "p/",
        "plan": {"frames": "1", "width": 64, "height": 36, "reason": "test"},
    })
    while True:
        for report in await worker.reports(0, 5):
            if report["progress"] and report["progress"]["phase"] == "rendering":
                print("rendering", flush=True)
        await asyncio.sleep(0.1)

asyncio.run(main(sys.argv[1], sys.argv[2] == "True"))
"""


@pytest.mark.parametrize("sandbox", [False, True])
def test_children_die_with_a_killed_worker(tmp_path: Path, sandbox: bool) -> None:
    command = [sys.executable, "-P", "-c", _WORKER, str(tmp_path), str(sandbox)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"rendering\n"
        children = psutil.Process(worker.pid).children(recursive=True)
        assert children
        worker.kill()
    deadline = time.monotonic() + 20
    while running := [child for child in children if _runs(child)]:
        assert time.monotonic() < deadline, running
        time.sleep(0.05)


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
