"""Renders a small scene of ours, to see whether a worker is well: nothing of it comes from a file.

A cube on a world of one colour, seen from above its corner. Rays that miss the cube bring back the world's
colour and nothing else, so that the picture's corners are known beforehand; the cube itself has to be there,
lit, and the same in a second render, but for the order in which a GPU adds up its samples.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from workers.child import Refusal
from workers.inside_blender import compat, devices, opening
from workers.inside_blender.causes import BAD_RESULT, from_blender
from workers.inside_blender.changes import Changes
from workers.inside_blender.expected import SIDE, WORLD, fault
from workers.inside_blender.session import Session
from workers.protocol import Count, Done, Probe

SAMPLES = 4
_SCENE = "A small scene, which is rendered to see whether the worker is well,"
_CURE = "Look after the worker's driver, its memory and its cooling."


def render_probe(session: Session, request: Probe) -> Done:
    """Carry out a `Probe`; raises `Refusal` (bad-result) for a picture that is not as it must be."""
    opening.factory_preferences()
    scene = _scene(request.threads)
    with Changes() as changes:
        device_name = devices.choose(changes, request.device)
        pictures = []
        for number in (1, 2):
            session.send(Count("probing", number, 2))
            pictures.append(_rendered(scene, Path(request.folder) / f"probe-{number}.exr"))
        wrong = fault(pictures[0], pictures[1], exact=request.device == "CPU")
        if wrong:
            raise Refusal(BAD_RESULT, f"{_SCENE} {wrong}.", _CURE)
        return Done(device=devices.rendered_on(scene), device_name=device_name)


def _scene(threads: int) -> Any:
    scene = bpy.context.scene
    bpy.ops.mesh.primitive_cube_add(size=2)
    cube = bpy.context.object
    cube.data.materials.append(bpy.data.materials.new("Probe"))
    bpy.ops.object.light_add(type="SUN", rotation=(0.4, 0.2, 0))
    bpy.context.object.data.energy = 2
    bpy.ops.object.camera_add(location=(6, -6, 5), rotation=(math.radians(60), 0, math.radians(45)))
    scene.camera = bpy.context.object
    scene.world = bpy.data.worlds.new("Probe")
    compat.plain_world(scene.world, WORLD)
    render = scene.render
    render.engine = "CYCLES"
    scene.cycles.samples = SAMPLES
    scene.cycles.use_adaptive_sampling = False
    scene.cycles.use_denoising = False
    render.resolution_x = render.resolution_y = SIDE
    render.resolution_percentage = 100
    compat.set_format(render.image_settings, "OPEN_EXR")
    render.image_settings.color_mode, render.image_settings.color_depth = "RGBA", "32"
    if threads:
        render.threads_mode, render.threads = "FIXED", threads
    return scene


def _rendered(scene: Any, path: Path) -> Any:
    """The picture as (height, width, 4) float32, y up; scene-linear, as Cycles made it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scene.render.filepath = str(path)
    try:
        bpy.ops.render.render(write_still=True)
    except RuntimeError as error:
        raise from_blender(error, "a small scene of its own") from error
    if not path.exists():
        raise Refusal(
            BAD_RESULT, "A small scene of the farm's own was rendered, but no picture written.", _CURE
        )
    image = bpy.data.images.load(str(path))
    values = np.empty(image.size[0] * image.size[1] * 4, dtype=np.float32)
    image.pixels.foreach_get(values)
    picture = values.reshape(image.size[1], image.size[0], 4)
    bpy.data.images.remove(image)
    path.unlink()
    return picture
