"""Taking a child's files out of its folder, which an attacker may have written."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from farm.domain.work import Cause
from workers.failures import AttemptFailed, plain

_CHUNK = 1024 * 1024
_LONGEST = 200  # bytes of one name: temporary names on the way to the artist need some more
_DEEPEST = 16


@dataclass(frozen=True)
class Harvested:
    """A file that is ours now: ``name`` as in the child's folder (POSIX, relative), ``path`` the copy."""

    name: str
    path: Path


def harvest(
    base: Path, folder: str, names: Iterable[str], into: Path, *, most_files: int, most_bytes: int
) -> list[Harvested]:
    """Copy the files ``names`` of ``base/folder`` to ``into``, in order, each name once.

    ``base`` is ours; all below is the child's. Only regular files are taken, no link is followed at
    any depth, and nothing is read twice. Raises `AttemptFailed` (bad-result) for anything else.
    """
    into.mkdir(parents=True, exist_ok=True)
    wanted = dict.fromkeys(map(_safe, names))
    if len(wanted) > most_files:
        raise _bad(f"Blender wrote {len(wanted)} files for one frame; at most {most_files} are taken.")
    taken: list[Harvested] = []
    left = most_bytes
    for number, name in enumerate(wanted):
        target = into / f"{number:05d}"
        left -= _copy(base, (*PurePosixPath(folder).parts, *PurePosixPath(name).parts), name, target, left)
        taken.append(Harvested(name, target))
    return taken


def _safe(name: str) -> str:
    path = PurePosixPath(name)
    shown = plain(name, 120)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\\" in name or not name.isprintable():
        raise _bad(f"Blender wrote to “{shown}”, which is no path inside of its output folder.")
    if len(path.parts) > _DEEPEST or any(len(part.encode()) > _LONGEST for part in path.parts):
        raise _bad(f"The output path “{shown}” is too long.", "Shorten the scene's output path.")
    return str(path)


def _copy(base: Path, parts: tuple[str, ...], name: str, target: Path, most: int) -> int:
    source = _open(base, parts, name)
    try:
        if not stat.S_ISREG(os.fstat(source).st_mode) or os.fstat(source).st_nlink != 1:
            raise _bad(f"“{name}” in the output folder is not a plain file.")
        size = 0
        with target.open("wb") as out:
            while chunk := os.read(source, _CHUNK):
                size += len(chunk)
                if size > most:
                    raise _bad("Blender wrote more for one frame than a worker takes.")
                out.write(chunk)
    finally:
        os.close(source)
    return size


def _open(base: Path, parts: tuple[str, ...], name: str) -> int:
    """Descriptor of ``base/parts…``, opened step by step so that no link on the way is followed."""
    at = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for depth, part in enumerate(parts):
            last = depth == len(parts) - 1
            flags = os.O_RDONLY | os.O_NOFOLLOW | (os.O_NONBLOCK if last else os.O_DIRECTORY)
            step = os.open(part, flags, dir_fd=at)
            os.close(at)
            at = step
    except OSError as error:
        os.close(at)
        if error.errno == errno.ENOENT:
            raise _bad(f"Blender said that it wrote “{name}”, but it is not there.") from None
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EACCES):
            raise _bad(f"“{name}” in the output folder is not a plain file.") from None
        raise
    return at


def _bad(what: str, cure: str = "") -> AttemptFailed:
    return AttemptFailed(Cause.BAD_RESULT, what, cure or "See the log for what Blender wrote.")
