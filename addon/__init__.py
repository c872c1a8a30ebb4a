"""Tessera for Blender: submit the open scene to a farm, and see frames as they finish.

An extension for Blender 4.5 to 5.2: the standard library and bpy only, Python 3.11. `gather` and what
draws run in Blender's main thread; `work` and all that it calls run in a thread that never touches bpy,
and can be imported where there is no Blender.
"""

from __future__ import annotations


def register() -> None:
    """Called by Blender when the add-on is turned on."""
    from .registration import register

    register()


def unregister() -> None:
    """Called by Blender when it is turned off; nothing of ours stays. Jobs go on at the farm."""
    from .registration import unregister

    unregister()
