"""Why a render process refuses a request: the causes by name, and the one behind Blender's own words.

Causes are the values of ``farm.domain.work.Cause``, which cannot be imported here.
"""

from __future__ import annotations

from workers import shortage
from workers.child import Refusal

BAD_SCENE = "bad-scene"
OUT_OF_MEMORY = "out-of-memory"
NO_DEVICE = "no-device"
BAD_RESULT = "bad-result"
DISK_FULL = "disk-full"
INTERNAL = "internal"


def from_blender(error: RuntimeError, doing: str) -> Refusal:
    """The refusal behind an operator's error report; Blender tells kinds apart only by their text.

    ``doing`` names the work in progress, such as “frame 12”.
    """
    lines = str(error).strip().removeprefix("Error: ").split("\n")
    text = lines[0].rstrip(".")
    lower = text.lower()
    if "no camera" in lower:
        return Refusal(
            BAD_SCENE,
            f"Blender cannot render {doing}: the scene has no camera.",
            "Add a camera to the scene, or name one with --camera.",
        )
    if lower.startswith("parse errors in path"):
        return Refusal(
            BAD_SCENE,
            f"Blender cannot name {doing}. {' '.join(line.lstrip('- ') for line in lines[1:])}",
            "Correct the output path in the file; a brace that is meant is written twice.",
        )
    if lacking := shortage.missing(text):
        return Refusal(
            OUT_OF_MEMORY,
            f"Blender ran out of {lacking} for {doing}: {text}.",
            f"Use a worker with more {lacking}, smaller textures or less geometry.",
        )
    if "no space left" in lower:
        return Refusal(
            DISK_FULL,
            f"The worker's disk is full: {doing} could not be saved.",
            "Free some room in the worker's scratch folder.",
        )
    return Refusal(
        BAD_SCENE, f"Blender could not render {doing}: {text}.", "Try this frame in Blender itself."
    )
