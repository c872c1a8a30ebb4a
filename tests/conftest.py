"""Fixtures for the whole house: real storage, and the scenes of other people."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from farm.embedded import seaweed
from farm.embedded.home import Home
from farm.embedded.keeper import LAUNCHER
from farm.embedded.ports import find_free
from farm.settings import StorageSettings
from farm.storage import S3Storage, open_storage

PROJECT = Path(__file__).resolve().parents[1]

# Ray reads it when it is imported: without it, it takes 127.0.0.1 for a mistake (farm.embedded.ray_head).
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"


@pytest.fixture(scope="session")
def corpus() -> Callable[[str], Path]:
    """Gives the path of a scene of other people; skips where they do not lie beside the project."""
    folder = Path(os.environ.get("TESSERA_CORPUS", PROJECT.parent / "shared" / "corpus"))
    if not folder.is_dir():
        pytest.skip("the scenes of other people do not lie beside the project (TESSERA_CORPUS)")
    return lambda name: folder / name


@pytest.fixture(scope="session")
def storage_server() -> Iterator[StorageSettings]:
    """One SeaweedFS for the whole session; its settings name a bucket that the first put makes."""
    folder = Path(tempfile.mkdtemp(prefix="tessera-storage-"))
    home = Home(folder)
    home.prepare()
    home.make_sockets()
    ports = dict(zip(seaweed.PORTS, find_free(len(seaweed.PORTS)), strict=True))
    service = seaweed.service(home, ports, os.environ)
    with (home.logs / "storage.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *service.command],
            stdout=log,
            stderr=log,
            cwd="/",
        )
    try:
        deadline = time.monotonic() + 60
        while not service.ready():
            assert process.poll() is None, (home.logs / "storage.log").read_text()[-2000:]
            assert time.monotonic() < deadline, "SeaweedFS did not come up"
            time.sleep(0.05)
        access, secret = home.access_keys()
        yield StorageSettings(
            endpoint=f"http://127.0.0.1:{ports['s3']}", access_key=access, secret_key=SecretStr(secret)
        )
    finally:
        process.kill()
        process.wait()
        service.tidy()
        shutil.rmtree(home.sockets, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def real_storage(storage_server: StorageSettings) -> S3Storage:
    """Storage on the session's server. It is shared: write under a prefix of your own."""
    return open_storage(storage_server)


@pytest.fixture
def prefix() -> str:
    """A prefix of keys that no other test uses, ending in a slash."""
    return f"test-{uuid.uuid4().hex[:12]}/"
