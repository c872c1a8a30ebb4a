"""Blender alone, as an artist runs it: no code of the project, nothing set but what the file says.

Each line of input is a Python literal, each line of output that starts with ``=`` another:

- ``("open", path)`` → None
- ``("render", scene, frame)`` → None, or Blender's own words where it refuses
- ``("pixels", path)`` → (width, height, channels, bits, digest of all values as Blender reads them)
"""

import ast
import hashlib
import sys

import bpy
import numpy as np


def open_file(path):
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
    for scene in bpy.data.scenes:
        if hasattr(scene.render, "compositor_device"):
            scene.render.compositor_device = "CPU"  # a machine without a screen has no other


def render(name, frame):
    try:
        bpy.ops.render.render(animation=True, scene=name, frame_start=frame, frame_end=frame)
    except RuntimeError as error:
        return str(error)
    return None


def pixels(path):
    image = bpy.data.images.load(path)
    try:
        image.colorspace_settings.name = "Non-Color"
        values = np.empty(len(image.pixels), dtype=np.float32)
        image.pixels.foreach_get(values)
        return (*image.size, image.channels, image.depth, hashlib.sha256(values.tobytes()).hexdigest())
    finally:
        bpy.data.images.remove(image)


DOORS = {"open": open_file, "render": render, "pixels": pixels}

for line in sys.stdin:
    door, *arguments = ast.literal_eval(line)
    sys.stdout.write(f"\n={DOORS[door](*arguments)!r}\n")
    sys.stdout.flush()
