"""The files of scenes, kept on this machine by their hash; the least used go first.

Several workers of a machine share one cache. Locks of the operating system guard it, so a worker
that dies leaves none behind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from farm.domain import keys
from farm.domain.scene import Blob
from farm.storage import Storage

_DISK_SHARE = 2  # the cache takes at most one part in so many of what it and free disk make up
_NO_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EACCES, errno.EOPNOTSUPP)


@dataclass(frozen=True)
class _Kept:
    path: Path
    bytes: int
    used: float
    linked: bool


class BlobCache:
    """Blobs under ``root``, at most ``most_bytes`` of them, or half of the disk that is there for them.

    A blob gets into a scene's folder as a hard link. One that is linked somewhere is in use and never
    forgotten; its link keeps the bytes alive anyway. All methods block; they are for threads.
    """

    def __init__(self, root: Path, storage: Storage, most_bytes: int) -> None:
        self._root = root
        self._storage = storage
        self._most_bytes = most_bytes
        (root / "locks").mkdir(parents=True, exist_ok=True)

    def place(self, blob: Blob, target: Path, stop: threading.Event) -> bool:
        """Put ``blob`` at ``target``, which must not exist; True where it came from storage.

        Raises what `Storage.get_file` raises, and `CancelledError` once ``stop`` is set.
        """
        with self._locked(blob.sha256[:2], stop):
            path = self._path(blob)
            fetched = not _is_blob(path, blob)
            if fetched:
                path.parent.mkdir(exist_ok=True)
                self._storage.get_file(keys.blob(blob.sha256), path, blob)
                path.chmod(0o444)
            os.utime(path)
            _link_or_copy(path, target)
        return fetched

    def make_room(self, blobs: Iterable[Blob]) -> None:
        """Forget the least used blobs, so that ``blobs`` fit in; those of them that are here stay."""
        missing = 0
        for blob in set(blobs):
            path = self._path(blob)
            if _is_blob(path, blob):
                with contextlib.suppress(FileNotFoundError):  # another worker may just have forgotten it
                    os.utime(path)
            else:
                missing += blob.bytes
        if not missing:
            return
        kept = sorted(self._kept(), key=lambda one: one.used)
        total = sum(one.bytes for one in kept)
        free = shutil.disk_usage(self._root).free
        most = min(self._most_bytes, (total + free) // _DISK_SHARE)
        for one in kept:
            if total + missing <= most:
                return
            if not one.linked and self._forget(one.path):
                total -= one.bytes

    def _forget(self, path: Path) -> bool:
        """Delete a blob, unless it has come into use; waits for nobody."""
        lock = self._lock(path.parent.name)
        if lock is None:
            return False
        with lock, contextlib.suppress(FileNotFoundError):
            if path.stat().st_nlink == 1:
                path.unlink()
                return True
        return False

    def _kept(self) -> Iterator[_Kept]:
        for path in self._root.glob("[0-9a-f][0-9a-f]/*"):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                yield _Kept(path, found.st_size, found.st_mtime, found.st_nlink > 1)

    def _path(self, blob: Blob) -> Path:
        return self._root / blob.sha256[:2] / blob.sha256

    @contextlib.contextmanager
    def _locked(self, shard: str, stop: threading.Event) -> Iterator[None]:
        """Hold a shard's lock; another worker may be fetching for minutes, so ``stop`` is looked at."""
        while (lock := self._lock(shard)) is None:
            if stop.wait(0.1):
                raise CancelledError
        with lock:
            if stop.is_set():
                raise CancelledError
            yield

    def _lock(self, shard: str) -> BinaryIO | None:
        """The shard's lock, held until it is closed; None where somebody else has it."""
        file = (self._root / "locks" / shard).open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file


def _is_blob(path: Path, blob: Blob) -> bool:
    """Whether the file is there in full: it was verified when it came, and is read-only since."""
    try:
        return path.stat().st_size == blob.bytes
    except FileNotFoundError:
        return False


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copyfile(source, target)
        target.chmod(0o444)
