"""Where files lie among those that travel. Text only: nothing here looks at a disk or at Blender.

Files near the .blend keep their places relative to each other, under a common root. Those elsewhere
(another drive, another tree) go to a folder of their own that mirrors their full path, so that what
lies side by side there still does. Blender's background copy (`rewrite`) uses the same rules.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """``root`` is a folder on this machine, or empty where the file was never saved anywhere."""

    root: str
    outside: str = "elsewhere"

    @classmethod
    def around(cls, base: str, files: Iterable[str]) -> Layout:
        """The layout for a .blend in folder ``base`` that needs ``files`` (full paths)."""
        if not base:
            return cls("")
        near = [os.path.dirname(file) for file in files if _near(base, file)]
        root = os.path.commonpath([base, *near])
        taken = {_relative(folder, root).partition("/")[0] for folder in (base, *near)}
        outside, number = "elsewhere", 1
        while outside in taken:
            number += 1
            outside = f"elsewhere-{number}"
        return cls(root, outside)

    def place(self, path: str) -> str:
        """Where the file or folder at ``path`` lies among what travels: POSIX, relative."""
        if self.root and _inside(path, self.root):
            return _relative(path, self.root)
        drive, tail = os.path.splitdrive(path)
        parts = [part for part in re.split(r"[:\\/]+" if os.name == "nt" else "/+", drive + tail) if part]
        return "/".join([self.outside, *parts])

    def reference(self, path: str, folder: str) -> str:
        """How a .blend that lies in ``folder`` of what travels names ``path``: ``//../tex/a.png``."""
        here = "/" + folder.strip("/")
        relative = os.path.relpath("/" + self.place(path), here)
        return "//" + relative.replace(os.sep, "/")

    def fits(self, raw: str, base: str, folder: str) -> bool:
        """Whether ``raw``, in a .blend of folder ``base`` here and ``folder`` there, leads to its file."""
        if not raw.startswith("//"):
            return False
        there = os.path.normpath(os.path.join("/" + folder.strip("/"), raw[2:].replace("\\", "/")))
        return there.replace(os.sep, "/").lstrip("/") == self.place(resolved(raw, base))


def resolved(raw: str, base: str) -> str:
    """The full path that ``raw`` means in a .blend that lies in ``base``."""
    if raw.startswith("//"):
        return os.path.normpath(os.path.join(base, raw[2:].replace("\\", "/")))
    return os.path.normpath(raw)


def _near(base: str, file: str) -> bool:
    """False where only the root of the file system (or nothing) holds both: no project looks so."""
    try:
        common = os.path.commonpath([base, os.path.dirname(file)])
    except ValueError:  # other drives
        return False
    return os.path.dirname(common) != common or common == base


def _inside(path: str, root: str) -> bool:
    try:
        return os.path.commonpath([path, root]) == root
    except ValueError:
        return False


def _relative(path: str, root: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")
