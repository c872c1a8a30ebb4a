"""Other machines: processes in a network of their own, at the other end of a cable."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import psutil

from tests.chaos import ground


class Machine:
    """One program of ours, ``python -m MODULE ARGUMENT…``, with the address ``there`` on a network.

    This end of its cable has the address ``here``. Whatever it starts ends with it.
    """

    def __init__(
        self, number: int, module: str, arguments: tuple[str, ...], log: Path, environment: Mapping[str, str]
    ) -> None:
        """``number``, from 0 to 99, tells machines apart."""
        self.here, self.there = f"10.77.{number}.1", f"10.77.{number}.2"
        self._cable = f"chaos{number}"
        self._log: BinaryIO = log.open("ab")
        line = ("unshare", "--net", sys.executable, "-P", "-m", module, *arguments)
        self._program = subprocess.Popen(
            line, cwd=ground.PROJECT, env=environment, stdout=self._log, stderr=self._log
        )
        self._connect()

    def processes(self, name: str) -> list[psutil.Process]:
        """What of it is called ``name``; none while that is down."""
        heirs = psutil.Process(self._program.pid).children(recursive=True)
        return [process for process in heirs if _name(process) == name]

    def cable(self, *, up: bool) -> None:
        """Plug the network in or out: what was sent is lost, and nobody is told."""
        _run("ip", "link", "set", self._cable, "up" if up else "down")

    def close(self) -> None:
        """End it."""
        end(self._program)
        self._log.close()
        # The kernel may have been quicker: the other end goes with its machine, and this one with it.
        subprocess.run(("ip", "link", "delete", self._cable), check=False, stderr=subprocess.DEVNULL)

    def _connect(self) -> None:
        network, other = Path(f"/proc/{self._program.pid}/ns/net"), f"{self._cable}b"
        while network.readlink() == Path(f"/proc/{os.getpid()}/ns/net").readlink():
            time.sleep(0.01)  # until unshare has done its work
        _run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", other)
        _run("ip", "link", "set", other, "netns", str(self._program.pid))
        _run("ip", "address", "add", f"{self.here}/24", "dev", self._cable)
        _run("ip", "link", "set", self._cable, "up")
        inside = ("nsenter", f"--net={network}", "ip")
        _run(*inside, "link", "set", "lo", "up")
        _run(*inside, "address", "add", f"{self.there}/24", "dev", other)
        _run(*inside, "link", "set", other, "up")
        _run(*inside, "route", "add", "default", "via", self.here)


def end(program: subprocess.Popen[bytes]) -> None:
    """Kill a program and what it has started."""
    for process in psutil.Process(program.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    program.kill()
    program.wait()


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
