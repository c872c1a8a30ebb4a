"""Paths as a .blend has them: where they lead on this machine, and how they are written for another."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path

_DRIVE = re.compile(rb"[A-Za-z]:[/\\]")
_WINDOWS = sys.platform == "win32"


def is_relative(written: bytes) -> bool:
    """Whether Blender looks beside the .blend: ``//textures/a.png``. ``\\\\server\\…`` is no such path."""
    return written.startswith(b"//")


def lead(written: bytes, folder: Path) -> Path:
    """Where the path leads, without “..” in it; ``folder`` is that of the .blend.

    A path of another system, such as ``D:\\tex\\a.png`` here, stays a relative `Path` that shows it.
    """
    if not _WINDOWS and (_DRIVE.match(written) or written.startswith(b"\\\\")):
        return Path(_text(written))
    if not _WINDOWS or is_relative(written):
        written = written.replace(b"\\", b"/")
    text = _text(written[2:] if is_relative(written) else written)
    return Path(os.path.abspath(folder / text))  # noqa: PTH100  Path.absolute() would leave “..” in


def lead_in_layout(written: bytes, folder: str) -> str | None:
    """Where a relative path leads among the files of a manifest; None where it leaves them.

    ``folder`` is that of the .blend in the manifest, empty for its root.
    """
    if not is_relative(written):
        return None
    text = _text(written[2:].replace(b"\\", b"/"))
    path = posixpath.normpath(posixpath.join(folder, text))
    return None if path.startswith(("../", "/")) or path == ".." else path


def relative(place: str, folder: str, *, is_folder: bool) -> bytes:
    """How a .blend in ``folder`` writes the path of ``place``, both in the manifest."""
    path = "//" + posixpath.relpath(place, folder or ".") + ("/" if is_folder else "")
    return path.encode("utf-8")


def _text(written: bytes) -> str:
    return os.fsdecode(written)
