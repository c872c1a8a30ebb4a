"""Log files of the farm's parts: their ends, and keeping them from growing without end."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

LIMIT = 8 * 1024 * 1024  # bytes of a log file
_KEPT = 2  # older files beside it
#: What logging puts before a message: “2026-03-01 12:00:00,123 ERROR farm.dispatch ”.
_STAMP = re.compile(
    r"^\d{4}-\d\d-\d\d [\d:,.]+ (DEBUG|INFO|WARNING|ERROR|CRITICAL) (farm|web|workers)[\w.]*:? "
)


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


def last_words(lines: tuple[str, ...]) -> tuple[str, str]:
    """What a part said last, and the cure where it knew one; both empty where it said nothing.

    Our own programs end with a sentence for each (`TesseraError`). Of anything else the last line that
    is no part of a traceback is taken.
    """
    match lines:
        case [*_, what, cure] if cure[:1].isalpha() and what.endswith(".") and cure.endswith("."):
            return _STAMP.sub("", what), cure
    plain = [line for line in lines if not line.startswith((" ", "\t", "Traceback "))]
    return _STAMP.sub("", (plain or [""])[-1]).strip(), ""
