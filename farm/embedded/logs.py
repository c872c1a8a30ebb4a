"""Log files of the farm's parts: their ends, and keeping them from growing without end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LIMIT = 8 * 1024 * 1024  # bytes of a log file
_KEPT = 2  # older files beside it


def rotate(path: Path, limit: int = LIMIT) -> None:
    """Move a log longer than `limit` to ``NAME.1``, and that to ``NAME.2``.

    The file is copied and cut, not renamed: its writer holds it open, appending.
    """
    try:
        if path.stat().st_size <= limit:
            return
        for number in range(_KEPT, 1, -1):
            older = path.with_name(f"{path.name}.{number - 1}")
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number}"))
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        os.truncate(path, 0)
    except OSError:
        return  # a full disk: a log must not end what it tells about


def tail(path: Path, lines: int) -> tuple[str, ...]:
    """The last lines of a log, without empty ones."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    return tuple(line for line in text.splitlines() if line.strip())[-lines:]
