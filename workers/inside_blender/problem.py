"""The one exception that becomes a `Failed` answer: a cause, a sentence and a cure.

Causes are the values of ``farm.domain.work.Cause``, which cannot be imported here.
"""

from __future__ import annotations

BAD_SCENE = "bad-scene"
OUT_OF_MEMORY = "out-of-memory"
NO_DEVICE = "no-device"
BAD_RESULT = "bad-result"
DISK_FULL = "disk-full"
INTERNAL = "internal"


class Problem(Exception):
    """A request failed for a reason that can be told to a person."""

    def __init__(self, cause: str, what: str, cure: str = "") -> None:
        super().__init__(what)
        self.cause = cause
        self.what = what
        self.cure = cure


def from_blender(error: RuntimeError, doing: str) -> Problem:
    """The problem behind an operator's error report; Blender tells kinds apart only by their text.

    ``doing`` names the work in progress, such as “frame 12”.
    """
    text = str(error).strip().removeprefix("Error: ").split("\n")[0]
    lower = text.lower()
    if "no camera" in lower:
        return Problem(
            BAD_SCENE,
            f"{doing} cannot be rendered: the scene has no camera.",
            "Add a camera to the scene, or name one with --camera.",
        )
    if "out of memory" in lower or "out of gpu memory" in lower or "bad_alloc" in lower:
        return Problem(OUT_OF_MEMORY, f"{doing} ran out of memory: {text}.", "Use a worker with more memory.")
    if "no space left" in lower:
        return Problem(DISK_FULL, f"{doing} could not be saved: the disk is full.", "Free some disk space.")
    return Problem(
        BAD_SCENE, f"Blender could not render {doing}: {text}.", "Try this frame in Blender itself."
    )
