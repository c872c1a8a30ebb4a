"""What a store can do, and the errors of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Protocol

from farm.domain.errors import TesseraError
from farm.domain.scene import Blob

CHUNK = 1024 * 1024  # bytes that `Storage.stream` yields at a time, at most
BINARY = "application/octet-stream"


class Damaged(TesseraError):
    """The bytes in storage are not those that were committed."""

    title = "A stored file is damaged"
    code = "damaged"
    retryable: ClassVar[bool] = True  # the way from storage may have been at fault


class StorageRefused(TesseraError):
    """Storage answers but will not serve this farm: wrong keys, no rights, a clock that is off."""

    title = "Storage refused the farm"
    code = "storage-refused"


class Storage(Protocol):
    """A flat store of immutable objects by key, safe to share between threads.

    Keys are relative POSIX paths (at most 1024 bytes of UTF-8, no name longer than 255), and no key
    is the folder of another: ``a`` and ``a/b`` never both exist. An object is there as a whole or not
    at all; a second put of a key replaces it.

    Every method raises `Unavailable` when the store does not answer and `StorageRefused` when it
    refuses the farm's keys; writing methods raise `StorageFull`. The calls block.
    """

    def put_file(self, key: str, path: Path, media_type: str = BINARY) -> Blob:
        """Store a file, hashed while it is sent; gives back its size and SHA-256."""
        ...

    def put_stream(self, key: str, chunks: Iterable[bytes], media_type: str = BINARY) -> Blob:
        """Store what `chunks` yields. If `chunks` raises, nothing is stored and its error comes through."""
        ...

    def get_file(self, key: str, path: Path, blob: Blob) -> None:
        """Fetch an object into `path`, which appears only when it is complete and proven to be `blob`.

        Missing folders are made; an existing file is replaced. Raises `NotFound`, `Damaged` where size or
        SHA-256 differ, and `StorageFull` where the local disk is full.
        """
        ...

    def stream(self, key: str, start: int = 0) -> Iterator[bytes]:
        """The object's bytes from `start` on, at most `CHUNK` at a time; none where `start` is past the end.

        Raises `NotFound` (at the first `next`). Nothing is verified: the caller knows the hash, or does not.
        """
        ...

    def size(self, key: str) -> int | None:
        """Bytes of the object; None where there is none."""
        ...

    def copy(self, source: str, target: str) -> None:
        """Copy inside the store. Raises `NotFound`."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; a key that is not there counts as deleted."""
        ...

    def delete_prefix(self, prefix: str) -> None:
        """Delete every object whose key starts with `prefix`; an empty prefix is a `ValueError`."""
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that start with `prefix`, sorted by their UTF-8 bytes."""
        ...

    def ping(self) -> None:
        """Return quickly if the store can be used (its bucket is made where missing), or raise."""
        ...
