"""``python -m web``: serves the farm's pages and API until it is told to stop."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from contextlib import closing
from ipaddress import ip_address
from types import FrameType

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from farm.domain.errors import TesseraError, Unavailable, UsageError
from farm.service.context import open_farm
from farm.settings import Settings
from web.app import create_app
from web.live import Live
from web.opened import OpenFarm

#: Seconds that requests in flight get to end; live streams are ended at once.
GRACE = 1


class Server(uvicorn.Server):
    """Uvicorn, ending the live streams as soon as it is told to stop, so that stopping takes no wait."""

    def __init__(self, config: uvicorn.Config, live: Live) -> None:
        super().__init__(config)
        self._live = live

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Uvicorn's own would raise the signal again at the end; a stop that was asked for is no failure."""
        del frame
        self._live.close()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def loopback(host: str) -> None:
    """Raise `UsageError` where ``host`` is reachable from elsewhere: the farm has no sign-in."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise UsageError(
            f"The farm cannot serve at “{host}”: no such address.", "Set host to 127.0.0.1."
        ) from error
    if not all(ip_address(str(address).partition("%")[0]).is_loopback for address in found):
        raise UsageError(
            f"The farm cannot serve at “{host}”: others could reach it, and it has no sign-in yet.",
            "Set host to 127.0.0.1, and reach it from afar through an SSH tunnel.",
        )


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM."""
    loopback(settings.host)
    with closing(open_farm(settings)) as farm:
        _serve(create_app(OpenFarm(farm), settings.host), settings)


def _serve(app: FastAPI, settings: Settings) -> None:
    config = uvicorn.Config(
        app,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    with _listening(settings.host, settings.port) as listening:
        Server(config, app.state.live).run([listening])


def _listening(host: str, port: int) -> socket.socket:
    """A socket of our own, so that a taken port is told in words; Uvicorn would just leave."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise Unavailable(
            f"The farm's page cannot have port {port} on {host}: {error.strerror}.",
            "End what uses the port, or set FARM_PORT to another one; 0 finds a free one.",
        ) from error


def main() -> int:
    """Exit code 0 after a stop that was asked for, 1 or 2 with two lines where it cannot serve."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    try:
        serve(Settings())
    except TesseraError as error:
        sys.stderr.write(f"{error.what}\n{error.cure}\n")
        return error.exit_code
    except ValidationError as error:
        where = ", ".join(".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False))
        sys.stderr.write(
            f"These settings of the farm cannot be read: {where}.\nCorrect them in FARM_… or config.toml.\n"
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
