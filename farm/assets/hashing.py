"""Files by their content."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from farm.domain.scene import Blob

_TRIES = 2


class StillChanging(Exception):
    """A file was written to each time that it was read."""


def blob_of(path: Path) -> Blob:
    """Size and SHA-256 of the file at ``path``, read in pieces; raises OSError."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Blob(sha256=digest.hexdigest(), bytes=file.tell())


def steady_blob(path: Path) -> Blob:
    """`blob_of` a file that did not change meanwhile; raises OSError and `StillChanging`."""
    for _ in range(_TRIES):
        with path.open("rb") as file:
            before = os.fstat(file.fileno())
            digest = hashlib.file_digest(file, "sha256")
            size = file.tell()
        after = path.stat()
        if (before.st_ino, before.st_mtime_ns, size) == (after.st_ino, after.st_mtime_ns, after.st_size):
            return Blob(sha256=digest.hexdigest(), bytes=size)
    raise StillChanging(path)
