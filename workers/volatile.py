"""Metadata that differs between any two renders of a frame, and so proves nothing about its picture.

Blender writes the same keys as text of a PNG, as ``Blender:key:value`` comments of a JPEG and as string
attributes of an EXR. What is not listed here must be equal in a frame that was cut and in one that was not.

Standard library only, Python 3.11 syntax: the render process and the verifier use it too.
"""

from __future__ import annotations

import re

#: Key → why two renders of one frame never have to agree on it.
VOLATILE = {
    "Date": "when the file was saved",
    "RenderTime": "how long this render took",
    "Hostname": "which machine rendered",
    "Memory": "how much memory this process had in use",
    "File": "where the .blend lay on the machine that rendered",
}

#: Cycles' own clocks of a view layer. Its ``samples`` are no clock and must agree.
_CLOCK = re.compile(r"cycles\..+\.(?:render|synchronization|total)_time")


def is_volatile(key: str) -> bool:
    """Whether a difference in the metadata ``key`` says nothing about the picture."""
    return key in VOLATILE or _CLOCK.fullmatch(key) is not None
