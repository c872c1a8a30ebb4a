"""A machine for storage: SeaweedFS, kept running as the embedded farm keeps it, in a network of its own.

``python -m tests.chaos.store HOME PORT`` is that machine's one program: SeaweedFS listens on its
loopback, and `Forwarder` carries to it what arrives at PORT.
"""

from __future__ import annotations

import asyncio
import os
import shutil
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
from tests.chaos.machine import Machine
from tests.chaos.proxy import Forwarder, Proxy

#: The sockets of SeaweedFS lie in /tmp and are called by its ports; farms of this project take ports
#: from 20,000 on.
_PORTS = range(12_000, 19_000, 10)
_START = 90.0  # seconds


class Store:
    """The storage of a farm, on a machine of its own, behind `proxy`."""

    def __init__(self, home: Path, logs: Path) -> None:
        """Starts it and waits until it is ready."""
        self._first = _PORTS[ground.number() % len(_PORTS)]
        self._home = Home(home)
        self._home.prepare()
        port = self._first + len(seaweed.PORTS)
        arguments = (str(home), str(port))
        self.machine = Machine(0, "tests.chaos.store", arguments, logs / "storage-machine.log", os.environ)
        self.proxy = Proxy(self.machine.here, port + 1, (self.machine.there, port))
        access, secret = self._home.access_keys()
        self.settings = StorageSettings(
            endpoint=f"http://{self.machine.here}:{port + 1}",
            access_key=access,
            secret_key=SecretStr(secret),
            folder=self._home.storage,
        )
        self._wait()

    def processes(self) -> list[psutil.Process]:
        """SeaweedFS; none while it is down."""
        return self.machine.processes("weed")

    def close(self) -> None:
        """End the machine."""
        self.proxy.close()
        self.machine.close()
        shutil.rmtree(self._home.sockets, ignore_errors=True)
        for socket in Path("/tmp").glob(f"seaweedfs-*-grpc-{self._first // 10}[0-9].sock"):  # noqa: S108
            socket.unlink(missing_ok=True)

    def _wait(self) -> None:
        storage, deadline = open_storage(self.settings), time.monotonic() + _START
        while True:
            try:
                storage.ping()
            except TesseraError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return


async def _keep(home: Home, port: int) -> None:
    first = port - len(seaweed.PORTS)
    ports = {name: first + at for at, name in enumerate(seaweed.PORTS)}
    keeper = Keeper(seaweed.service(home, ports, os.environ), home.logs / "storage.log", lambda: None)
    forwarder = Forwarder(("127.0.0.1", ports["s3"]))
    await asyncio.gather(keeper.keep([]), forwarder.serve("0.0.0.0", port))  # noqa: S104  a cable's end


if __name__ == "__main__":
    where = Home(Path(sys.argv[1]))
    where.make_sockets()
    asyncio.run(_keep(where, int(sys.argv[2])))
