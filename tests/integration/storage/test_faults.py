"""What users are told when storage is away, refuses, or is full."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from farm.domain.errors import StorageFull, TesseraError, Unavailable
from farm.domain.scene import Blob
from farm.settings import StorageSettings
from farm.storage import MemoryStorage, S3Storage, Storage, StorageRefused, open_storage

CALLS: dict[str, Callable[[Storage], Any]] = {
    "ping": lambda store: store.ping(),
    "put": lambda store: store.put_stream("key", [b"x"]),
    "stream": lambda store: list(store.stream("key")),
    "size": lambda store: store.size("key"),
    "copy": lambda store: store.copy("key", "other"),
    "delete": lambda store: store.delete(["key"]),
    "keys": lambda store: list(store.keys("key")),
}


@contextmanager
def server(answer: bytes) -> Iterator[str]:
    """A server that says the same to everyone and hangs up; gives its address."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                request = b""
                while b"\r\n\r\n" not in request:
                    request += connection.recv(65536)
                connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


def at(endpoint: str) -> S3Storage:
    return open_storage(StorageSettings(endpoint=endpoint, access_key="key", secret_key=SecretStr("secret")))


def failing(status: str, code: str, message: str) -> bytes:
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_store_that_is_away_is_said_to_be(call: Callable[[Storage], Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"

    with pytest.raises(Unavailable, match="does not answer") as told:
        call(at(endpoint))

    assert endpoint in told.value.what
    assert told.value.cure


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_store_in_memory_can_be_away_too(call: Callable[[Storage], Any]) -> None:
    store = MemoryStorage()
    store.away = True

    with pytest.raises(Unavailable, match="does not answer"):
        call(store)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("wrong", [{"secret_key": SecretStr("wrong")}, {"access_key": "nobody"}])
def test_wrong_keys_are_said_to_be_wrong(
    storage_server: StorageSettings, wrong: dict[str, Any], call: Callable[[Storage], Any]
) -> None:
    with pytest.raises(StorageRefused, match="refused the farm’s keys") as told:
        call(open_storage(storage_server.model_copy(update=wrong)))

    assert "FARM_STORAGE__SECRET_KEY" in told.value.cure


def test_an_address_that_is_none_is_said_to_be() -> None:
    with pytest.raises(TesseraError, match="not the address of a store") as told:
        at("not an address")

    assert "FARM_STORAGE__ENDPOINT" in told.value.cure


@pytest.mark.parametrize(
    "answer",
    [
        failing("507 Insufficient Storage", "InsufficientStorage", "full"),
        failing("500 Internal Server Error", "InternalError", "write: no space left on device"),
        failing("403 Forbidden", "QuotaExceeded", "over quota"),
    ],
    ids=["507", "ENOSPC", "quota"],
)
def test_a_full_store_is_said_to_be_full(answer: bytes) -> None:
    with server(answer) as endpoint, pytest.raises(StorageFull, match="is full"):
        at(endpoint).delete(["key"])


def test_a_store_that_fails_is_unavailable() -> None:
    answer = failing("503 Service Unavailable", "SlowDown", "Please reduce your request rate")
    with server(answer) as endpoint, pytest.raises(Unavailable, match="reduce your request rate"):
        at(endpoint).delete(["key"])


def test_something_else_at_the_address_is_no_store() -> None:
    with server(b"220 mail.example.org ESMTP\r\n") as endpoint, pytest.raises(Unavailable):
        at(endpoint).ping()


def test_a_download_that_breaks_off_for_good_is_unavailable() -> None:
    head = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\nETag: "e"\r\nConnection: close\r\n\r\n'
    with server(head + b"only ten b") as endpoint, pytest.raises(Unavailable, match="does not answer"):
        list(at(endpoint).stream("key"))


def test_a_bucket_that_is_missing_is_made(storage_server: StorageSettings, prefix: str) -> None:
    store = open_storage(storage_server.model_copy(update={"bucket": f"made-{prefix[5:-1]}"}))

    store.put_stream("key", [b"x"])

    assert store.size("key") == 1


def test_a_folder_that_may_not_be_written_is_said_so(tmp_path: Path) -> None:
    store = MemoryStorage()
    stored = store.put_stream("key", [b"x"])
    (tmp_path / "file").write_bytes(b"in the way")

    with pytest.raises(TesseraError, match="cannot be written") as told:
        store.get_file("key", tmp_path / "file" / "out", stored)

    assert told.value.cure


def test_a_local_disk_that_is_full_is_said_to_be_full(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("this system has no /dev/full")
    store = MemoryStorage()
    stored = store.put_stream("key", [b"x" * 100_000])

    with pytest.raises(StorageFull, match="is full"):
        _save_to_full_disk(store, tmp_path, stored, full)


def _save_to_full_disk(store: MemoryStorage, folder: Path, stored: Blob, full: Path) -> None:
    class OnFullDisk(type(folder)):  # type: ignore[misc]
        """A folder whose files have no room."""

        def open(self, *_args: Any, **_named: Any) -> Any:
            return full.open("wb")

    store.get_file("key", OnFullDisk(folder) / "out", stored)


def test_the_store_in_memory_can_be_full() -> None:
    store = MemoryStorage(capacity=10)
    store.put_stream("a", [b"123456"])

    with pytest.raises(StorageFull, match="no room for “b”"):
        store.put_stream("b", [b"12345"])

    assert store.size("b") is None
    store.put_stream("a", [b"1234567890"])


def test_a_download_that_breaks_off_goes_on_where_it_was(
    storage_server: StorageSettings, prefix: str
) -> None:
    data = bytes(range(256)) * 20_000
    with breaking(storage_server.endpoint, after=1_300_000) as (endpoint, connections):
        store = open_storage(storage_server.model_copy(update={"endpoint": endpoint}))
        open_storage(storage_server).put_stream(f"{prefix}long", [data])

        assert b"".join(store.stream(f"{prefix}long")) == data
        assert len(connections) > 2


@contextmanager
def breaking(target: str, after: int) -> Iterator[tuple[str, list[int]]]:
    """A way to `target` that breaks off each connection after so many bytes of answer."""
    host, port = target.removeprefix("http://").split(":")
    listening = socket.create_server(("127.0.0.1", 0))
    connections: list[int] = []

    def forward(source: socket.socket, sink: socket.socket, limit: int) -> None:
        try:
            while limit > 0 and (data := source.recv(min(65536, limit))):
                sink.sendall(data)
                limit -= len(data)
        except OSError:
            pass
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            connections.append(1)
            far = socket.create_connection((host, int(port)))
            there = threading.Thread(target=forward, args=(near, far, 1 << 40))
            there.start()
            forward(far, near, after)
            there.join()
            near.close()
            far.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", connections
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


def test_a_disk_with_too_little_room_is_said_to_be_full_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 511 * 1024**2
    monkeypatch.setattr("farm.storage.faults.shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    store = open_storage(StorageSettings(endpoint="http://127.0.0.1:9", folder=tmp_path))
    with pytest.raises(StorageFull, match="511 MB are free") as told:
        store.put_stream("key", [b"x"])
    assert "Free some space there" in told.value.cure
