"""Parts of a farm that the settings name elsewhere: does anything answer there?"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from farm.domain.errors import TesseraError, Unavailable
from farm.settings import Settings

_PATIENCE = 5.0  # seconds for a connection


def check_storage(settings: Settings) -> None:
    """Raise `TesseraError` where the settings name a store at which nothing listens."""
    endpoint = settings.storage.endpoint
    if not endpoint:
        return
    own = "leave FARM_STORAGE__ENDPOINT out to have the farm bring its own storage."
    try:
        found = urlsplit(endpoint)
        host, port = found.hostname, found.port or {"http": 80, "https": 443}[found.scheme]
    except (ValueError, KeyError):
        host, port = None, 0
    if host is None:
        raise TesseraError(
            f"“{endpoint}” is not the address of a store.", f"Write it as https://HOST:PORT, or {own}"
        )
    if not _listens(host, port):
        raise Unavailable(f"No storage answers at {endpoint}.", f"Start it there, or {own}")


def check_ray(settings: Settings) -> None:
    """Raise `TesseraError` where the settings name a Ray cluster at which nothing listens."""
    address = settings.ray_address
    if not address:
        return
    own = "leave FARM_RAY_ADDRESS out to have the farm start its own."
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise TesseraError(
            f"“{address}” is not the address of a Ray cluster.", f"Write it as HOST:PORT, or {own}"
        )
    if not _listens(host.strip("[]"), int(port)):
        raise Unavailable(f"No Ray cluster answers at {address}.", f"Start it there, or {own}")


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True
