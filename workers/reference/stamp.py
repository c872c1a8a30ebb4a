"""What Blender burns into a picture and no second render can repeat."""

from __future__ import annotations

from typing import Any

#: Setting → what it burns in.
_UNREPEATABLE = {
    "use_stamp_date": "the date",
    "use_stamp_render_time": "the render time",
    "use_stamp_memory": "the memory in use",
    "use_stamp_hostname": "the machine's name",
    "use_stamp_filename": "the path of the scene",
}


def unrepeatable(scene: Any) -> list[str]:
    """What of it ``scene`` burns into its output, in words; empty where it burns in none of it."""
    if not scene.render.use_stamp:
        return []
    return [words for name, words in _UNREPEATABLE.items() if getattr(scene.render, name)]
