"""A Ray cluster of two machines, each of which carries one worker; the farm is told where it is.

``python -m tests.chaos.cluster HERE HEAD FOLDER [PORT]`` is the one program of such a machine: it keeps
Ray running at the address HERE, as a service of the system would. HEAD is HOST:PORT of the head; where
its host is HERE, this is the head.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from farm.embedded.keeper import Keeper
from farm.embedded.service import Service
from tests.chaos import ground
from tests.chaos.machine import Machine, end

_PORT = 6379  # nobody else is in this network
_START = 90.0  # seconds
_STORE = 80 * 1024 * 1024  # bytes, near Ray's least


class Cluster:
    """The head on this machine, and a node on another one."""

    def __init__(self, folder: Path) -> None:
        """Starts both. What is to speak to it needs `keys` in its environment."""
        token = folder / "ray-token"
        token.write_text(secrets.token_hex(32))
        self.keys = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        environment = {**os.environ, **self.keys, "RAY_USAGE_STATS_ENABLED": "0"}
        self.address = f"10.77.1.1:{_PORT}"
        node = ("10.77.1.2", self.address, str(folder / "r2"))
        self.node = Machine(1, "tests.chaos.cluster", node, folder / "node.log", environment)
        head = ("10.77.1.1", self.address, str(folder / "r1"))
        with (folder / "head.log").open("ab") as log:
            line = (sys.executable, "-P", "-m", "tests.chaos.cluster", *head)
            self._head = subprocess.Popen(line, cwd=ground.PROJECT, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + _START
        while not _listens("10.77.1.1"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the Ray head does not come up: {folder / 'r1.log'}")
            time.sleep(0.1)

    def head(self, name: str) -> list[psutil.Process]:
        """The head's processes of this name."""
        heirs = psutil.Process(self._head.pid).children(recursive=True)
        return [process for process in heirs if process.name() == name]

    def close(self) -> None:
        """End both."""
        self.node.close()
        end(self._head)


def _listens(host: str) -> bool:
    try:
        socket.create_connection((host, _PORT), timeout=1).close()
    except OSError:
        return False
    return True


def _service(here: str, head: str, folder: Path, environment: Mapping[str, str]) -> Service:
    leads = head.startswith(f"{here}:")
    place = ("--head", f"--port={_PORT}", "--include-dashboard=false") if leads else (f"--address={head}",)
    return Service(
        name="ray",
        command=(
            *(sys.executable, "-P", "-m", "ray.scripts.scripts", "start", "--block", *place),
            f"--node-ip-address={here}",
            "--num-cpus=1",
            "--min-worker-port=0",
            "--max-worker-port=0",
            "--disable-usage-stats",
            f"--object-store-memory={_STORE}",
            f"--temp-dir={folder}",  # its sessions, apart from those of the other machine
            "--log-style=record",
            "--log-color=false",
        ),
        environment=environment,
        ready=lambda: True,
    )


async def _keep(here: str, head: str, folder: Path) -> None:
    keeper = Keeper(_service(here, head, folder, os.environ), Path(f"{folder}.log"), lambda: None)
    keeper.ready.set()  # it is tried again for ever
    await keeper.keep([])


if __name__ == "__main__":
    asyncio.run(_keep(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
