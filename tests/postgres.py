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

MISSING = "PostgreSQL is not installed (Debian: apt-get install postgresql)"


def binaries() -> Path | None:
    """The folder of initdb and postgres; Debian keeps them off the PATH. None: it is not installed."""
    found = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    places = [*debian, *([Path(found)] if found else [])]
    return places[-1].resolve().parent if places else None


class PostgresServer:
    """A server with its data in ``folder``, which is there, and may be entered by its user."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Makes the data; ``options`` are the server's own. Raises LookupError where it is not installed."""
        found = binaries()
        if found is None:
            raise LookupError(MISSING)
        self._binaries, self._folder, self._options = found, folder, options
        self._as_user: list[str] = []
        self._numbers = count(1)
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(folder, "postgres", "postgres")
            self._as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        initdb = [found / "initdb", "-D", folder / "data", "-U", "tessera", "-A", "trust", "--no-sync"]
        subprocess.run([*self._as_user, *initdb], check=True, capture_output=True, cwd=folder)
        self.process = self._started()

    def new_database(self) -> str:
        """An empty one; gives its URL."""
        name = f"farm{next(self._numbers)}"
        create = [self._binaries / "createdb", "-h", self._folder, "-U", "tessera", name]
        subprocess.run(create, check=True)
        return f"postgresql:///{name}?host={self._folder}&user=tessera"

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it: SIGINT breaks connections off, SIGQUIT leaves its recovery to the next start."""
        self.process.send_signal(number)
        self.process.wait(timeout=30)

    def start(self) -> None:
        """Start it again, after `stop`."""
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        folder = self._folder
        # No shared memory of the system's: a small /dev/shm, or one that Ray has filled, is no matter.
        memory = ["-c", "dynamic_shared_memory_type=mmap"]
        command = [self._binaries / "postgres", "-D", folder / "data", "-k", folder, "-h", "", *memory]
        with (folder / "log").open("ab") as log:
            line = [*self._as_user, *command, *self._options]
            server = subprocess.Popen(line, cwd=folder, stdout=log, stderr=log)
        ready = [self._binaries / "pg_isready", "-h", folder, "-U", "tessera", "-q"]
        deadline = time.monotonic() + 30
        while subprocess.run(ready, check=False).returncode != 0:
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                raise RuntimeError((folder / "log").read_text())
            time.sleep(0.1)
        return server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """Makes an empty database a call and returns its URL; skips where there is no PostgreSQL."""
    if binaries() is None:
        pytest.skip(MISSING)
    folder = tmp_path_factory.mktemp("postgres")
    if os.geteuid() == 0:
        for parent in (folder, *folder.parents[:3]):
            parent.chmod(parent.stat().st_mode | 0o055)
    server = PostgresServer(folder, "-F")
    try:
        yield server.new_database
    finally:
        server.stop()
