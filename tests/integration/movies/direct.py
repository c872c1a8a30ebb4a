"""Renders scenes' movies as an artist's own Blender does.

Each line of input is a Python literal: (file, scene, folder, first frame, last frame, render settings).
"""

from __future__ import annotations

import ast
import sys

import bpy

if __name__ == "__main__":
    for line in sys.stdin:
        blend, name, folder, first, last, settings = ast.literal_eval(line)
        bpy.ops.wm.open_mainfile(filepath=blend, use_scripts=False)
        scene = bpy.context.window.scene = bpy.data.scenes[name]
        scene.render.filepath = folder + scene.render.filepath.rpartition("/")[2]
        scene.frame_start, scene.frame_end = first, last
        for setting, value in settings.items():
            setattr(scene.render, setting, value)
        bpy.ops.render.render(animation=True, scene=name)
        sys.stdout.write(f"rendered {name}\n")
        sys.stdout.flush()
