"""Finished files on their way into the artist's folder: whole, checked, never over something else."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from .trouble import Trouble, reason

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}  # Windows knows no quotas


def folder_name(job: str, job_id: str) -> str:
    """A folder for one job's results, by a name that every system takes."""
    plain = re.sub(r'[\x00-\x1f<>:"/\\|?*]+', "_", job).strip(" .")[:80]
    return f"{plain} {job_id}".strip()


def destination(folder: Path, name: str) -> Path:
    """Where the output ``name`` belongs; raises `Trouble` for a name that climbs out of ``folder``."""
    parts = PurePosixPath(name)
    bad = {"\\", "\0"} | ({":"} if os.name == "nt" else set())
    if parts.is_absolute() or not parts.parts or ".." in parts.parts or bad & set(name):
        raise Trouble(
            f"The farm sent a file with the unsafe name “{name}”.",
            "It was not saved. Look at it on the page.",
        )
    return folder.joinpath(*parts.parts)


def is_there(output: dict[str, Any], path: Path) -> bool:
    """Whether exactly this output lies at ``path``."""
    try:
        if not path.is_file() or path.stat().st_size != output["bytes"]:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == str(output["sha256"])
    except OSError:
        return False


def save(pieces: Iterable[bytes], output: dict[str, Any], path: Path) -> bool:
    """Write ``pieces`` to ``path`` by way of a temporary file beside it; False: another file is there.

    ``path`` holds either what it held or the whole, verified output. Raises `Trouble`, ``away`` where
    the bytes are not those that the farm committed.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            return False
        digest, size = hashlib.sha256(), 0
        with temporary.open("xb") as file:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
                size += len(piece)
        if size != output["bytes"] or digest.hexdigest() != output["sha256"]:
            raise Trouble(
                f"“{output['name']}” arrived damaged ({size} of {output['bytes']} bytes, or other content).",
                "Nothing of it was saved. Press Go On.",
                away=True,
            )
        return _place(temporary, path)
    except OSError as error:
        if error.errno in _FULL:
            raise Trouble(f"No room left for “{path}”.", "Free some space, then press Go On.") from None
        raise Trouble(
            f"“{path}” cannot be written: {reason(error)}.", "Make it writable, then press Go On."
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _place(temporary: Path, path: Path) -> bool:
    try:
        path.hardlink_to(temporary)  # unlike a rename, never over something that is there
    except FileExistsError:
        return False
    except OSError:  # no hard links on this file system
        if path.exists():
            return False
        temporary.rename(path)
    return True
