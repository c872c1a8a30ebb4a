"""The local side of a transfer: hash what passes, and let a file appear only when it is right."""

from __future__ import annotations

import errno
import hashlib
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from farm.domain.errors import StorageFull, TesseraError
from farm.domain.scene import Blob
from farm.storage.base import CHUNK, Damaged


def read_chunks(path: Path) -> Iterator[bytes]:
    """The file's bytes, `CHUNK` at a time."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


class Hashed:
    """Passes chunks on and knows the `Blob` of what has passed. Also a minimal readable file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""
        self._sha256 = hashlib.sha256()
        self._bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._count(chunk)
            yield chunk

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes (all that is left for -1); fewer only at the end."""
        parts = [self._rest] if self._rest else []
        have = len(self._rest)
        while size < 0 or have < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._count(chunk)
            parts.append(chunk)
            have += len(chunk)
        whole = b"".join(parts)
        cut = len(whole) if size < 0 else size
        self._rest = whole[cut:]
        return whole[:cut]

    @property
    def blob(self) -> Blob:
        return Blob(sha256=self._sha256.hexdigest(), bytes=self._bytes)

    def _count(self, chunk: bytes) -> None:
        self._sha256.update(chunk)
        self._bytes += len(chunk)


def save_verified(key: str, chunks: Iterable[bytes], path: Path, blob: Blob) -> None:
    """Write `chunks` to `path`, atomically, if they are `blob`; raises as `Storage.get_file` does."""
    partial = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.part")
    with told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            hashed = Hashed(chunks)
            with partial.open("xb") as file:
                for chunk in hashed:
                    file.write(chunk)
            if hashed.blob != blob:
                raise Damaged(_difference(key, hashed.blob, blob), "Render it again, or upload it again.")
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def _difference(key: str, came: Blob, wanted: Blob) -> str:
    if came.bytes != wanted.bytes:
        return f"“{key}” is damaged in storage: {came.bytes} bytes came of {wanted.bytes}."
    return f"“{key}” is damaged in storage: its SHA-256 is {came.sha256}, not {wanted.sha256}."


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turns what the local disk refuses into an error with a cure."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(
                f"The disk that holds “{path.parent}” is full.", "Free some space there, then try again."
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
            raise TesseraError(
                f"“{path}” cannot be written: {error.strerror}.", "Choose a folder that you may write to."
            ) from error
        raise
