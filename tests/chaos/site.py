"""A farm to be hit: where its processes are, found from the one that started them."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import psutil
from sqlalchemy import select

from farm.client.client import FarmClient
from farm.domain.errors import TesseraError
from farm.domain.work import WorkerInfo
from farm.embedded import stack, state
from farm.embedded.home import Home
from farm.settings import Settings
from farm.store import Database, schema
from tests.chaos.cluster import Cluster
from tests.chaos.store import Store
from tests.postgres import PostgresServer

_MB = 1024 * 1024
_ENDING = 2.0  # seconds in which a process that was killed has ended


class Sort(StrEnum):
    """Farms that differ in what they are built on."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"  # its database is a server
    SPREAD = "spread"  # its workers are on two machines of a Ray cluster that is not its own


class Site:
    """The embedded farm with two workers, its storage on another machine, and three small disks.

    All of it lives in ``folder``; nothing is left of it after `down`.
    """

    def __init__(self, folder: Path, sort: Sort = Sort.SQLITE) -> None:
        """Starts it; raises `TesseraError` with what went wrong."""
        self.folder = folder
        self.home, self.scratch, storage = (folder / name for name in ("home", "scratch", "storage"))
        self.disks = {
            "home": Disk(self.home, 3000 * _MB),
            "scratch": Disk(self.scratch, 2000 * _MB),
            "storage": Disk(storage, 3000 * _MB),
        }
        self.store = Store(storage, folder)
        self.postgres = _postgres(folder) if sort is Sort.POSTGRES else None
        self.cluster = Cluster(folder) if sort is Sort.SPREAD else None
        if self.cluster:
            os.environ.update(self.cluster.keys)
        self._settings = Settings(
            home=self.home,
            scratch=self.scratch,
            storage=self.store.settings,
            database_url=self.postgres.new_database() if self.postgres else "",
            ray_address=self.cluster.address if self.cluster else "",
        )
        self.up()
        self.database = Database(self._settings.database)
        self.client = FarmClient(self.farm.url)

    def up(self) -> None:
        """Start it, where it does not run; the page keeps its address. Raises `TesseraError`."""
        self.farm = stack.start(self._settings, workers=1 if self.cluster else 2)  # on each machine

    def part(self, name: str) -> psutil.Process | None:
        """One of the supervisor's parts, while it lives: dispatcher, web, ray."""
        told = state.read(Home(self.home).state)
        pids = [part.pid for part in told.parts if part.name == name] if told else []
        return _process(pids[0]) if pids and pids[0] else None

    def ray(self, program: str) -> list[psutil.Process]:
        """Ray's own programs at the head: ``raylet``, ``gcs_server``."""
        if self.cluster:
            return self.cluster.head(program)
        head = self.part("ray")
        return [] if head is None else [p for p in _heirs(head) if p.name() == program]

    def workers(self) -> list[psutil.Process]:
        """The worker actors that the dispatcher has met."""
        with suppress(TesseraError):
            with self.database.read() as connection:
                rows = connection.execute(select(schema.workers.c.info)).scalars().all()
            found = (_process(WorkerInfo.model_validate_json(row).pid) for row in rows)
            return [process for process in found if process is not None]
        return []

    def children(self, module: str) -> list[psutil.Process]:
        """Processes of workers that run ``module``, without the sandbox around them."""
        heirs = [heir for worker in self.workers() for heir in _heirs(worker)]
        return [heir for heir in heirs if module in _line(heir) and "bwrap" not in _line(heir)[0]]

    def another_dispatcher(self) -> subprocess.Popen[bytes] | None:
        """A second one, with everything that the first was given; None while there is no first."""
        first = self.part("dispatcher")
        if first is None:
            return None
        with (self.folder / "another-dispatcher.log").open("ab") as log:
            return subprocess.Popen(first.cmdline(), env=first.environ(), cwd="/", stdout=log, stderr=log)

    def down(self) -> list[str]:
        """End it as a user does; gives what is left of it, which is nothing.

        What runs on a Ray cluster that is not the farm's is that one's.
        """
        self.client.close()
        self.database.close()
        stack.stop(self.home)
        self.store.close()
        if self.cluster:
            self.cluster.close()
        if self.postgres:
            self.postgres.stop()
        ours = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
        others = [p for p in psutil.process_iter() if p.pid not in ours]
        _, others = psutil.wait_procs(others, timeout=_ENDING)  # what was killed is still on its way out
        left = [process for process in others if any(_line(process))]  # a zombie has none
        told = [f"process {process.pid} is left: {' '.join(_line(process)).strip()}" for process in left]
        for process in left:
            process.kill()  # it is in our own namespace
        for disk in self.disks.values():
            disk.close()
        return [] if self.cluster else told


class Disk:
    """A file system in memory, of which only what is used takes any."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self._size = size
        folder.mkdir(parents=True)
        _run("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", str(folder))

    def fill(self) -> None:
        """From now on not a byte more goes onto it."""
        told = os.statvfs(self.folder)
        used = (told.f_blocks - told.f_bfree) * told.f_frsize
        for spare in (0, 1, 4, 16, 64):  # it may grow meanwhile
            size = f"remount,size={used + spare * _MB}"
            if subprocess.run(["mount", "-o", size, str(self.folder)], check=False).returncode == 0:
                return

    def free(self) -> None:
        """It has its first size again."""
        _run("mount", "-o", f"remount,size={self._size}", str(self.folder))

    def close(self) -> None:
        _run("umount", "--lazy", str(self.folder))


def _postgres(folder: Path) -> PostgresServer:
    data = folder / "postgres"
    data.mkdir()
    folder.chmod(0o711)  # its user goes through here
    return PostgresServer(data)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _process(pid: int) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


def _heirs(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return process.children(recursive=True)
    return []


def _line(process: psutil.Process) -> list[str]:
    """Its command line; one that has ended has an empty one."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline() or [""]
    return [""]
