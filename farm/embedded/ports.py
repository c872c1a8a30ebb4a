"""Free ports on this machine."""

from __future__ import annotations

import errno
import random
import socket
from contextlib import ExitStack
from ipaddress import ip_address

from farm.domain.errors import TesseraError, Unavailable, UsageError

# Below the ports that Linux hands to outgoing connections (32768 on, ip_local_port_range), so that none
# of those takes one between the look here and the start of the program that is to have it.
_FIRST, _LAST = 20_000, 32_000


def check(host: str, port: int) -> None:
    """Raise `TesseraError` where `port` cannot be listened at."""
    try:
        _listen(host, port).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise TesseraError(
                f"Port {port} on {host} is taken by another program.",
                "Choose another with --port or FARM_PORT, or leave it out to have a free one found.",
            ) from error
        raise TesseraError(
            f"Port {port} on {host} cannot be used: {error.strerror or error}.",
            "Choose another with --port or FARM_PORT, and an address of this machine with FARM_HOST.",
        ) from error


def check_host(host: str) -> None:
    """Raise `UsageError` where `host` is not this machine's loopback: the farm has no sign-in yet."""
    try:
        found = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise UsageError(f"There is no address “{host}”.", "Set FARM_HOST to 127.0.0.1.") from error
    if not all(ip_address(address).is_loopback for address in found):
        raise UsageError(
            f"The farm cannot serve at {host}: others could reach it, and it has no sign-in yet.",
            "Set FARM_HOST to 127.0.0.1, and reach it from afar through an SSH tunnel.",
        )


def is_free(host: str, port: int) -> bool:
    """Whether `port` can be listened at."""
    try:
        _listen(host, port).close()
    except OSError:
        return False
    return True


def find_free(count: int, host: str = "127.0.0.1") -> list[int]:
    """`count` different ports that nobody listens at; raises `Unavailable` where there are not so many."""
    found: list[int] = []
    tries = random.sample(range(_FIRST, _LAST), k=_LAST - _FIRST)
    with ExitStack() as held:
        for port in tries:
            if len(found) == count:
                break
            try:
                held.enter_context(_listen(host, port))
            except OSError:
                continue
            found.append(port)
    if len(found) < count:
        raise Unavailable(
            f"Fewer than {count} ports are free on {host}.", "End programs that listen there, then try again."
        )
    return found


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    made = socket.socket(family, kind, protocol)
    try:
        # As servers do: a port whose last connections are still being let go counts as free.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(1)
    except OSError:
        made.close()
        raise
    return made
