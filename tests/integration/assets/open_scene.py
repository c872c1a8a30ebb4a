"""Opens a scene as the render process does, and tells as JSON what its files are.

Called with the .blend and, where pictures are wanted, where their EXR files begin. The last line of output
is the answer.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import bpy

from workers.inside_blender import compat
from workers.inside_blender.missing import missing_files
from workers.inside_blender.opening import open_file
from workers.inside_blender.session import Session
from workers.protocol import Open


def paths() -> list[str]:
    """Every file that Blender knows of, its own apart, in full."""
    found = set()
    for block, names in bpy.data.file_path_map(include_libraries=True).items():
        for name in names:
            at_hand = [bpy.path.abspath(name, library=library) for library in (block.library, None)]
            found.add(os.path.normpath(next(filter(os.path.exists, at_hand), at_hand[0])))
    own = bpy.utils.system_resource("DATAFILES")
    return sorted(path for path in found if not path.startswith(own))


def told() -> dict[str, Any]:
    scene = bpy.context.scene
    return {
        "missing": [one["what"] if isinstance(one, dict) else one.what for one in missing_files()],
        "paths": paths(),
        "lost": sorted(block.name for block in bpy.data.user_map() if getattr(block, "is_missing", False)),
        "libraries": sorted(library.filepath for library in bpy.data.libraries),
        "strips": [strip.name for strip in compat.strips(scene)],
        "overrides": {
            thing.name: list(thing.location) for thing in bpy.data.objects if thing.override_library
        },
        "cloth": [
            [modifier.point_cache.is_baked, modifier.point_cache.info]
            for thing in bpy.data.objects
            for modifier in thing.modifiers
            if modifier.type == "CLOTH"
        ],
    }


def render(path: str) -> None:
    """Once with scripts (OSL) and once with the fog: Cycles takes half a minute for both at once."""
    scene = bpy.context.scene
    save(f"{path}-fog.exr")
    if "Fog" in bpy.data.objects:
        scene.cycles.shading_system, bpy.data.objects["Fog"].hide_render = True, True
        save(f"{path}-osl.exr")


def save(path: str) -> None:
    render = bpy.context.scene.render
    if hasattr(render.image_settings, "media_type"):
        render.image_settings.media_type = "IMAGE"
    render.image_settings.file_format, render.image_settings.color_depth = "OPEN_EXR", "32"
    render.filepath, render.use_file_extension = path, False
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    open_file(Session(send=lambda _: None), Open(sys.argv[1]))
    answer = told()
    if len(sys.argv) > 2:
        render(sys.argv[2])
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
