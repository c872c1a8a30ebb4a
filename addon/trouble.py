"""What went wrong, in words for the panel."""

from __future__ import annotations


class Trouble(Exception):
    """A sentence of what happened, and the cure. ``away``: the farm may answer later."""

    def __init__(self, what: str, cure: str = "", away: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.cure = cure
        self.away = away


class Stopped(Exception):
    """The artist cancelled, or Blender lets go of the add-on."""


def reason(error: OSError) -> str:
    """The system's own words, as the end of a sentence."""
    return (error.strerror or str(error) or type(error).__name__).lower()
