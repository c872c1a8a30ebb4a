"""What the add-on puts into Blender, and takes out again."""

from __future__ import annotations

import bpy

from . import operators, session
from .panel import TesseraPanel
from .preferences import TesseraPreferences
from .settings import TesseraSettings

_CLASSES = (TesseraSettings, TesseraPreferences, *operators.CLASSES, TesseraPanel)


def register() -> None:
    """All classes, and the settings of each scene."""
    for kind in _CLASSES:
        bpy.utils.register_class(kind)
    bpy.types.Scene.tessera = bpy.props.PointerProperty(type=TesseraSettings)


def unregister() -> None:
    """Threads and the timer first: they must not meet classes that are gone."""
    session.close()
    del bpy.types.Scene.tessera
    for kind in reversed(_CLASSES):
        bpy.utils.unregister_class(kind)
