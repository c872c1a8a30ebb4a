"""Storage that goes away in the middle of an attempt and comes back: real SeaweedFS, killed and started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from farm.embedded import seaweed
from farm.embedded.home import Home
from farm.embedded.keeper import LAUNCHER
from farm.embedded.ports import find_free
from farm.settings import StorageSettings
from farm.storage import open_storage
from tests.integration.workers.conftest import FAKE, NOTHING_SAID, Bench
from tests.processes import forget_others
from workers.worker import Worker


class Server:
    """A SeaweedFS that can be killed and started again with its data."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._ports = dict(zip(seaweed.PORTS, find_free(len(seaweed.PORTS)), strict=True))
        self._service = seaweed.service(home, self._ports, os.environ)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def settings(self) -> StorageSettings:
        access, secret = self._home.access_keys()
        return StorageSettings(
            endpoint=f"http://127.0.0.1:{self._ports['s3']}", access_key=access, secret_key=SecretStr(secret)
        )

    def start(self) -> None:
        with (self._home.logs / "storage.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *self._service.command],
                stdout=log,
                stderr=log,
                cwd="/",
            )
        deadline = time.monotonic() + 60
        while not self._service.ready():
            assert self._process.poll() is None
            assert time.monotonic() < deadline, "SeaweedFS did not come up"
            time.sleep(0.05)
        forget_others()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._service.tidy()
            self._process = None


@pytest.fixture
def server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="tessera-storage-"))
    home = Home(folder)
    home.prepare()
    home.make_sockets()
    server = Server(home)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(home.sockets, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def distant(server: Server, tmp_path: Path) -> AsyncIterator[Bench]:
    """A worker whose storage is `server`."""
    storage = open_storage(server.settings)
    config = {"worker_id": "w1", "scratch": str(tmp_path), "sandbox": False}
    worker = Worker(config, storage=storage, modules=FAKE, machine=NOTHING_SAID)
    yield Bench(worker, storage)  # type: ignore[arg-type]  # it only puts, gets and deletes
    await worker.close()


async def test_a_picture_is_kept_until_its_storage_is_started_again(distant: Bench, server: Server) -> None:
    await distant.worker.start(distant.order("job/1/whole", distant.scene("renderframe = slow 15")))
    await distant.progress("rendering", 2)
    server.kill()
    await distant.progress("waiting for storage")
    server.start()
    result = (await distant.end())["result"]
    assert result is not None
    [picture] = [file for file in result["files"] if file["role"] == "output"]
    data = b"".join(distant.storage.stream(picture["key"]))
    assert len(data) == picture["blob"]["bytes"]


async def test_a_scene_is_fetched_once_its_storage_is_started_again(distant: Bench, server: Server) -> None:
    scene = distant.scene()
    server.kill()
    await distant.worker.start(distant.order("job/1/whole", scene))
    await distant.progress("waiting for storage")
    server.start()
    result = (await distant.end())["result"]
    assert result is not None
    assert result["seconds"]["fetch"] < result["seconds"]["total"] / 2, "the wait costs the frame nothing"
