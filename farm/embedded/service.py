"""A part of the farm, as a value: what to start, when it is ready, how it ends."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Probe = Callable[[], bool]


@dataclass(frozen=True)
class Service:
    """A program that the supervisor keeps running.

    `needs` names the services that must be ready before it starts, `falls_with` those of them whose end
    is its own: it is killed, and starts again once they are back. `ready` is asked, in a thread, until it
    says True; from then on `goes_on`, each second: a part that twice does not is killed, and starts again.
    Durations are seconds.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    ready: Probe
    needs: tuple[str, ...] = ()
    falls_with: tuple[str, ...] = ()
    patience: float = 90.0  # from its start until it must be ready
    grace: float = 3.0  # between SIGTERM and SIGKILL
    last_to_go: bool = False  # ends after the others have
    fresh: tuple[Path, ...] = ()  # folders that are empty at each start, and gone in the end
    sockets: tuple[Path, ...] = ()  # and other files, that one that was killed leaves behind
    goes_on: Probe | None = None

    def tidy(self) -> None:
        """Remove what the last run left: its sockets, and all that is in the fresh folders."""
        for socket_file in self.sockets:
            socket_file.unlink(missing_ok=True)
        for folder in self.fresh:
            shutil.rmtree(folder, ignore_errors=True)


def get_json(port: int, path: str) -> Any:
    """The JSON that the server on loopback gives; None where it gives none."""
    # Not httpx: a proxy set in the environment must never come between the parts of one machine.
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return json.loads(answer.read()) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def answers(host: str, port: int, path: str) -> bool:
    """Whether the server gives 200 for the path."""
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def listens(port: int) -> bool:
    """Whether something takes connections at the port on loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
