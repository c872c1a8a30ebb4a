"""Sending the files of a scene that the farm lacks, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from itertools import batched
from pathlib import Path
from threading import Event, Lock

from farm.client.connection import Connection
from farm.domain.errors import BadInput
from farm.domain.scene import Blob, SceneManifest
from farm.domain.views import BlobQuery

#: Called with bytes sent and bytes to send; from several threads, one at a time.
type Progress = Callable[[int, int], None]

_AT_ONCE = 4
_PIECE = 1 << 20  # bytes
_ASKED_AT_ONCE = 1000  # hashes a question


class _Stopped(Exception):
    """Another upload failed, or the user gave up; ends the others between two pieces."""


def send_lacking(
    connection: Connection,
    manifest: SceneManifest,
    root: Path,
    progress: Progress | None,
    elsewhere: Mapping[str, Path] | None = None,
) -> None:
    """Send what the farm lacks of ``manifest``; raises `TesseraError`.

    Its files lie under ``root``, but for those whose place ``elsewhere`` tells by their name.
    """
    sources = elsewhere or {}
    places = {blob.sha256: (sources.get(name, root / name), blob) for name, blob in manifest.files.items()}
    lacking = [places[sha256] for sha256 in _missing(connection, list(places))]
    told = _Told(sum(blob.bytes for _, blob in lacking), progress)
    stop = Event()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        sending = [pool.submit(_send, connection, path, blob, told, stop) for path, blob in lacking]
        try:
            done, _ = wait(sending, return_when=FIRST_EXCEPTION)
            _raise_first(done)
        finally:
            stop.set()  # on an error or Ctrl-C; by now a no-op otherwise
            pool.shutdown(cancel_futures=True)


def _missing(connection: Connection, hashes: list[str]) -> Iterator[str]:
    for some in batched(hashes, _ASKED_AT_ONCE, strict=False):
        query = BlobQuery(sha256=some)
        answer = connection.ask(BlobQuery, "POST", "/api/blobs/missing", json=query.model_dump(mode="json"))
        yield from set(some).intersection(answer.sha256)


def _send(connection: Connection, path: Path, blob: Blob, told: _Told, stop: Event) -> None:
    def body() -> Iterator[bytes]:
        if stop.is_set():  # also ends the waiting for a farm that is away
            raise _Stopped
        return pieces()

    def pieces() -> Iterator[bytes]:
        sent = 0
        try:
            with path.open("rb") as file:
                while piece := file.read(_PIECE):
                    if stop.is_set():
                        raise _Stopped
                    if sent + len(piece) > blob.bytes:
                        raise _changed(path)
                    yield piece
                    sent += len(piece)
                    told.more(len(piece))
            if sent < blob.bytes:
                raise _changed(path)
            sent = 0  # arrived whole: what was told stays told
        except OSError as error:
            raise BadInput(
                f"“{path}” cannot be read: {(error.strerror or str(error)).lower()}.",
                "Put it back and submit again.",
            ) from None
        finally:
            told.more(-sent)

    headers = {"Content-Length": str(blob.bytes), "Content-Type": "application/octet-stream"}
    connection.ask(Blob, "PUT", f"/api/blobs/{blob.sha256}", content=body, headers=headers, timeout=300)


def _changed(path: Path) -> BadInput:
    """The error for a file that is no longer what was hashed; same-sized changes the farm notices."""
    return BadInput(
        f"“{path}” changed while it was being sent.", "Wait until it is saved, then submit again."
    )


class _Told:
    """Adds up the bytes of all uploads and tells the caller."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress = total, progress
        self._sent, self._lock = 0, Lock()
        self.more(0)

    def more(self, count: int) -> None:
        with self._lock:
            self._sent += count
            if self._progress is not None:
                self._progress(self._sent, self._total)


def _raise_first(done: set[Future[None]]) -> None:
    errors = [error for future in done if (error := future.exception())]
    for error in errors:
        if not isinstance(error, _Stopped):
            raise error
