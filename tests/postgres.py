"""A PostgreSQL server of the tests' own, on a Unix socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest


def _binaries() -> Path | None:
    """The folder of initdb and postgres; Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    places = [*debian, *([Path(found)] if found else [])]
    return places[-1].resolve().parent if places else None


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """Makes an empty database a call and returns its URL; skips where there is no PostgreSQL."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = tmp_path_factory.mktemp("postgres")
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        for parent in (folder, *folder.parents[:3]):
            parent.chmod(parent.stat().st_mode | 0o055)
        shutil.chown(folder, "postgres", "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data = folder / "data"
    initdb = [*as_user, binaries / "initdb", "-D", data, "-U", "tessera", "-A", "trust", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
    # No shared memory of the system's: a small /dev/shm, or one that Ray has filled, is no matter.
    memory = ["-c", "dynamic_shared_memory_type=mmap"]
    command = [*as_user, binaries / "postgres", "-D", data, "-k", folder, "-h", "", "-F", *memory]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        ready = [binaries / "pg_isready", "-h", folder, "-U", "tessera", "-q"]
        deadline = time.monotonic() + 30
        while subprocess.run(ready, check=False).returncode != 0:
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail((folder / "log").read_text())
            time.sleep(0.1)
        numbers = count(1)

        def new_database() -> str:
            name = f"farm{next(numbers)}"
            create = [binaries / "createdb", "-h", folder, "-U", "tessera", name]
            subprocess.run(create, check=True)
            return f"postgresql:///{name}?host={folder}&user=tessera"

        yield new_database
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=30)
