"""Frames as people write them: ``7``, ``1-10``, ``1-10x2``, several with commas. The farm reads the same."""

from __future__ import annotations

import re

from .trouble import Trouble

_PART = re.compile(r"(-?[0-9]{1,9})(?:-(-?[0-9]{1,9})(?:x([0-9]{1,9}))?)?")
_CURE = "Write frames as 7, 1-10, 1-10x2 (every second) or several of these with commas."
_FIRST, _LAST = -1_048_574, 1_048_574  # Blender's own limits


def count(text: str) -> int:
    """How many frames ``text`` names, each once; raises `Trouble` where it is no frame range."""
    named: set[int] = set()
    for piece in text.split(","):
        found = _PART.fullmatch(piece.strip())
        if not found:
            raise Trouble(f"“{text}” is not a frame range.", _CURE)
        first = int(found[1])
        last = int(found[2]) if found[2] is not None else first
        step = int(found[3]) if found[3] is not None else 1
        if last < first:
            raise Trouble(f"Frame range “{piece.strip()}” runs backwards.", f"Write {last}-{first}.")
        if step < 1 or first < _FIRST or last > _LAST:
            raise Trouble(f"“{piece.strip()}” is not a range of frames that Blender knows.", _CURE)
        named.update(range(first, last + 1, step))
    return len(named)
