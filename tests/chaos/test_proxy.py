from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from farm.embedded.ports import find_free
from tests.chaos.proxy import Manner, Proxy

BODY = bytes(range(256)) * 1000


@pytest.fixture
def served() -> Iterator[tuple[Proxy, int]]:
    """A proxy before a server that says `BODY` to whoever says a line."""
    ours, theirs = find_free(2)
    server = socket.create_server(("127.0.0.1", theirs))

    def serve() -> None:
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            with line:
                try:
                    line.recv(100)
                    line.sendall(BODY)
                except OSError:
                    continue

    threading.Thread(target=serve, daemon=True).start()
    proxy = Proxy("127.0.0.1", ours, ("127.0.0.1", theirs))
    yield proxy, ours
    proxy.close()
    server.close()


def fetched(port: int, timeout: float = 10) -> bytes:
    """All that comes until the other end closes; raises OSError where it breaks."""
    deadline = time.monotonic() + 5
    while True:
        try:
            line = socket.create_connection(("127.0.0.1", port), timeout=timeout)
            break
        except ConnectionRefusedError:  # it is about to listen
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    with line:
        line.sendall(b"give\n")
        found = b""
        while data := line.recv(65536):
            found += data
        return found


def test_it_carries_everything_faithfully(served: tuple[Proxy, int]) -> None:
    assert fetched(served[1]) == BODY


def test_it_cuts_in_the_middle_and_resets_and_is_faithful_again(served: tuple[Proxy, int]) -> None:
    proxy, port = served
    assert fetched(port) == BODY
    proxy.behave(Manner.CUT)
    with pytest.raises(ConnectionResetError):
        fetched(port)
    proxy.behave(Manner.RESET)
    with pytest.raises(ConnectionResetError):
        fetched(port)
    proxy.behave(Manner.FAITHFUL)
    assert fetched(port) == BODY


def test_what_it_holds_it_carries_in_the_end(served: tuple[Proxy, int]) -> None:
    proxy, port = served
    assert fetched(port) == BODY
    proxy.behave(Manner.HOLD)
    with pytest.raises(TimeoutError):
        fetched(port, timeout=0.3)
    proxy.behave(Manner.FAITHFUL)
    assert fetched(port) == BODY
