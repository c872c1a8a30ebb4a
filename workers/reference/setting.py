"""Sets the open file up as a request asks, for good: the process renders nothing else."""

from __future__ import annotations

import math
from typing import Any

import bpy

from workers.child import Refusal
from workers.protocol import Look


def set_up(look: Look) -> Any:
    """The scene to render, ready for it but for the device and the output's place; raises `Refusal`."""
    scene = bpy.data.scenes.get(look.scene) if look.scene is not None else bpy.context.scene
    if scene is None:
        raise Refusal("bad-scene", f"The file has no scene “{look.scene}”.")
    bpy.context.window.scene = scene
    if look.engine == "cycles":
        scene.render.engine = "CYCLES"
    if look.camera is not None:
        _use_camera(scene, look.camera)
    if look.samples is not None:
        scene.cycles.samples = look.samples
        scene.cycles.use_layer_samples = "IGNORE"
    if look.percentage is not None:
        scene.render.resolution_percentage = look.percentage
    for other in bpy.data.scenes:
        _as_on_a_headless_machine(other.render, look.threads)
    return scene


def take_first(scene: Any, samples: int) -> None:
    """Render only the first ``samples`` samples of the scene's total: Cycles' own Sample Subset."""
    scene.cycles.use_sample_subset = True
    scene.cycles.sample_offset, scene.cycles.sample_subset_length = 0, samples


def play(scene: Any, start: int, frame: int) -> None:
    """Go through the timeline as its play button does, to ``frame`` and as far beyond as its blur looks.

    Only this advances simulations that are not baked: a background render of an animation leaves rigid
    bodies, cloth and simulation nodes as they are on the file's own frame (measured with 5.2.3). A frame
    played too much is only kept in the caches.
    """
    render = scene.render
    blur = math.ceil(render.motion_blur_shutter) if render.use_motion_blur else 0
    bpy.context.view_layer.update()  # what is simulated has to be there before its first step
    for number in range(min(start, frame), frame + blur + 2):
        scene.frame_set(number)


def _use_camera(scene: Any, name: str) -> None:
    camera = scene.objects.get(name)
    if camera is None or camera.type != "CAMERA":
        raise Refusal("bad-scene", f"The scene “{scene.name}” has no camera “{name}”.")
    for marker in scene.timeline_markers:
        marker.camera = None  # a bound marker would take over on its frame
    scene.camera = camera


def _as_on_a_headless_machine(render: Any, threads: int) -> None:
    render.use_overwrite, render.use_placeholder = True, False
    render.compositor_device = render.compositor_denoise_device = "CPU"
    if threads:
        render.threads_mode, render.threads = "FIXED", threads
