"""What the main thread found for the worker thread to go on with."""

from __future__ import annotations

from dataclasses import dataclass

from .packing import Finding, Use
from .places import Layout


@dataclass(frozen=True)
class Gathered:
    """A saved copy of the artist's file, and what it needs."""

    copy: str
    place: str  # of the .blend among what travels
    uses: tuple[Use, ...]
    layout: Layout
    rewrite: tuple[str, ...]  # .blends whose paths must be put right, the copy among them
    findings: tuple[Finding, ...]
    blender: str  # the executable; "" where Blender is a Python module
