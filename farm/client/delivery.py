"""Outputs on their way into the artist's folder: whole, checked, and never over something else."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from farm.assets.hashing import blob_of
from farm.domain.errors import BadInput, Conflict, StorageFull, TesseraError, Unavailable
from farm.domain.views import OutputView

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}  # Windows knows no quotas


def destination(folder: Path, output: OutputView) -> Path:
    """Where ``output`` belongs under ``folder``; raises `TesseraError` for a name that climbs out."""
    name = PurePosixPath(output.name)
    bad = {"\\", "\0"} | ({":"} if os.name == "nt" else set())
    if name.is_absolute() or not name.parts or ".." in name.parts or bad & set(output.name):
        raise TesseraError(
            f"The farm sent an output with the unsafe name “{output.name}”.",
            "It was not saved. Fetch it from the page if you trust it.",
        )
    return folder.joinpath(*name.parts)


def is_there(output: OutputView, path: Path) -> bool:
    """Whether exactly this output already lies at ``path``."""
    try:
        if not path.is_file() or path.stat().st_size != output.bytes:
            return False
        return blob_of(path).sha256 == output.sha256
    except OSError:
        return False


def save(pieces: Iterable[bytes], output: OutputView, path: Path, overwrite: bool) -> None:
    """Write ``pieces`` to ``path`` by way of a temporary file beside it.

    ``path`` holds either what it held before or the whole, verified output, whatever happens.
    Raises `Unavailable` where the bytes are not those that the farm committed, `Conflict` where
    something lies at ``path`` and ``overwrite`` is False, `StorageFull`, and `BadInput` for a
    folder that cannot be written.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(pieces, output, temporary)
        _place(temporary, path, overwrite)
    except OSError as error:
        raise _explained(error, path) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _write(pieces: Iterable[bytes], output: OutputView, temporary: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with temporary.open("xb") as file:
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
            size += len(piece)
    if size != output.bytes or digest.hexdigest() != output.sha256:
        raise Unavailable(
            f"“{output.name}” arrived damaged ({size} of {output.bytes} bytes, or other content).",
            "Nothing was saved. Fetch it again with: farm fetch",
        )


def _place(temporary: Path, path: Path, overwrite: bool) -> None:
    if overwrite:
        temporary.replace(path)
        return
    try:
        path.hardlink_to(temporary)  # unlike a rename, never over something that is there
    except FileExistsError:
        raise taken(path) from None
    except OSError:  # no hard links on this file system
        if path.exists():
            raise taken(path) from None
        temporary.rename(path)


def taken(path: Path) -> Conflict:
    """The error for a file that is in the way."""
    return Conflict(
        f"“{path}” is there already and was left as it is.", "Choose another --out, or add --overwrite."
    )


def _explained(error: OSError, path: Path) -> TesseraError:
    if error.errno in _FULL:
        return StorageFull(f"No room left for “{path}”.", "Free some space, then: farm fetch")
    return BadInput(
        f"“{path}” cannot be written: {(error.strerror or str(error)).lower()}.",
        "Choose another folder with --out.",
    )
