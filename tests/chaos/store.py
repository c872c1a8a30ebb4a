"""A machine for storage: SeaweedFS, kept running as the embedded farm keeps it, in a network of its own.

``python -m tests.chaos.store HOME PORT`` is that machine's one program: it runs in its own network
namespace, where SeaweedFS listens on loopback and `Forwarder` carries to it what arrives at PORT.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
from pydantic import SecretStr

from farm.domain.errors import TesseraError
from farm.embedded import seaweed
from farm.embedded.home import Home
from farm.embedded.keeper import Keeper
from farm.settings import StorageSettings
from farm.storage import open_storage
from tests.chaos import ground
from tests.chaos.proxy import Forwarder, Proxy

_HERE, _THERE = "10.77.0.1", "10.77.0.2"
#: The sockets of SeaweedFS lie in /tmp and are called by its ports; farms of this project take ports
#: from 20,000 on.
_PORTS = range(12_000, 19_000, 10)


class Store:
    """The storage of a farm, on the other end of a cable, behind `proxy`."""

    def __init__(self, home: Path, logs: Path) -> None:
        """Starts it and waits until it is ready."""
        first = _PORTS[ground.number() % len(_PORTS)]
        self._home = Home(home)
        self._home.prepare()
        self._port, self._entry = first + len(seaweed.PORTS), first + len(seaweed.PORTS) + 1
        self._log = (logs / "storage-machine.log").open("ab")
        program = (sys.executable, "-P", "-m", "tests.chaos.store", str(home), str(self._port))
        self._machine = subprocess.Popen(
            ["unshare", "--net", *program], cwd=ground.PROJECT, stdout=self._log, stderr=self._log
        )
        self._cable = f"chaos{first}"
        self._connect()
        self.proxy = Proxy(self._entry, (_THERE, self._port))
        self._wait()

    @property
    def settings(self) -> StorageSettings:
        access, secret = self._home.access_keys()
        return StorageSettings(
            endpoint=f"http://127.0.0.1:{self._entry}",
            access_key=access,
            secret_key=SecretStr(secret),
            folder=self._home.storage,
        )

    @property
    def disk(self) -> Path:
        """Where it keeps its data."""
        return self._home.storage

    def processes(self) -> list[psutil.Process]:
        """SeaweedFS; none while it is down."""
        return [each for each in psutil.Process(self._machine.pid).children() if each.name() == "weed"]

    def cable(self, up: bool) -> None:
        """Plug the network in or out: what was sent is lost, and nobody is told."""
        subprocess.run(["ip", "link", "set", self._cable, "up" if up else "down"], check=True)

    def close(self) -> None:
        """End the machine."""
        self.proxy.close()
        for process in [*psutil.Process(self._machine.pid).children(recursive=True), self._machine]:
            process.kill()
        self._machine.wait()
        self._log.close()
        _run("ip", "link", "delete", self._cable)
        shutil.rmtree(self._home.sockets, ignore_errors=True)
        for socket in Path("/tmp").glob(f"seaweedfs-*-grpc-{self._port // 10}[0-9].sock"):  # noqa: S108
            socket.unlink(missing_ok=True)

    def _connect(self) -> None:
        there = f"{self._cable}b"
        ours = Path(f"/proc/{os.getpid()}/ns/net").readlink()
        while Path(f"/proc/{self._machine.pid}/ns/net").readlink() == ours:
            time.sleep(0.01)  # until unshare has done its work
        _run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", there)
        _run("ip", "link", "set", there, "netns", str(self._machine.pid))
        _run("ip", "address", "add", f"{_HERE}/24", "dev", self._cable)
        _run("ip", "link", "set", self._cable, "up")
        inside = ("nsenter", f"--net=/proc/{self._machine.pid}/ns/net", "ip")
        _run(*inside, "address", "add", f"{_THERE}/24", "dev", there)
        _run(*inside, "link", "set", there, "up")
        _run(*inside, "link", "set", "lo", "up")

    def _wait(self) -> None:
        storage, deadline = open_storage(self.settings), time.monotonic() + 90
        while True:
            try:
                storage.ping()
            except TesseraError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


async def _keep(home: Home, port: int) -> None:
    first = _first(port)
    ports = {name: first + at for at, name in enumerate(seaweed.PORTS)}
    keeper = Keeper(seaweed.service(home, ports, os.environ), home.logs / "storage.log", lambda: None)
    forwarder = Forwarder(("127.0.0.1", ports["s3"]))
    await asyncio.gather(keeper.keep([]), forwarder.serve("0.0.0.0", port))  # noqa: S104  a cable's end


def _first(port: int) -> int:
    return port - len(seaweed.PORTS)


if __name__ == "__main__":
    where = Home(Path(sys.argv[1]))
    where.make_sockets()
    asyncio.run(_keep(where, int(sys.argv[2])))
