"""Opens the file as ``blender -b --factory-startup --disable-autoexec`` would."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import bpy

from workers.child import Link, Refusal
from workers.protocol import Done, Open


def open_file(request: Open, link: Link) -> Done:
    """Carry out an `Open`; raises `Refusal` (bad-scene) in Blender's own words."""
    del link
    name = Path(request.path).name
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    bpy.context.preferences.system.use_online_access = False
    started = time.monotonic()
    try:
        bpy.ops.wm.open_mainfile(filepath=request.path, load_ui=False, use_scripts=False)
    except RuntimeError as error:
        raise Refusal("bad-scene", f"Blender cannot open “{name}”: {str(error).strip()}") from error
    if hasattr(bpy.context.preferences.filepaths, "texture_cache_directory"):  # 5.2 writes beside images
        folder = str(Path(bpy.app.tempdir or tempfile.gettempdir(), "textures"))
        bpy.context.preferences.filepaths.texture_cache_directory = folder
    return Done(seconds={"load": time.monotonic() - started})
