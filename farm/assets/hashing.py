"""Files by their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from farm.domain.scene import Blob


def blob_of(path: Path) -> Blob:
    """Size and SHA-256 of the file at ``path``, read in pieces; raises OSError."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Blob(sha256=digest.hexdigest(), bytes=file.tell())
