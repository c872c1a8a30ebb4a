"""Applies what a request says about the scene: which one, which camera, samples, size, device."""

from __future__ import annotations

from typing import Any

import bpy

from workers.child import Refusal
from workers.inside_blender import compat, content, devices
from workers.inside_blender.causes import BAD_SCENE
from workers.inside_blender.changes import Changes
from workers.protocol import Look

ENGINE = "CYCLES"


def scene_named(name: str | None, default: str) -> Any:
    """The scene asked for, or the file's active one; `Refusal` (bad-scene) where there is none."""
    found = bpy.data.scenes.get(name if name is not None else default)
    if found is None:
        there = ", ".join(f"“{scene.name}”" for scene in bpy.data.scenes)
        raise Refusal(
            BAD_SCENE, f"The file has no scene “{name or default}”.", f"Choose one of those it has: {there}."
        )
    return found


def camera_named(scene: Any, name: str) -> Any:
    """The camera object asked for; `Refusal` (bad-scene) where the scene has none of that name."""
    found = scene.objects.get(name)
    if found is None or found.type != "CAMERA":
        there = ", ".join(f"“{thing.name}”" for thing in scene.objects if thing.type == "CAMERA")
        raise Refusal(
            BAD_SCENE,
            f"The scene “{scene.name}” has no camera “{name}”.",
            f"Choose one of those it has: {there}." if there else "Add a camera to the scene.",
        )
    return found


def use_camera(changes: Changes, scene: Any, camera: Any) -> None:
    """Render ``scene`` with ``camera`` on every frame, also where markers are bound to others.

    Changing a marker makes Blender choose the camera anew, so the camera is set after the markers and
    given back after them.
    """
    changes.undo(setattr, scene, "camera", scene.camera)
    for marker in scene.timeline_markers:
        changes.set(marker, "camera", None)
    scene.camera = camera


def use_samples(changes: Changes, scene: Any, samples: int) -> None:
    """Render every view layer of ``scene`` with ``samples`` samples a pixel."""
    changes.set(scene.cycles, "samples", samples)
    changes.set(scene.cycles, "use_layer_samples", "IGNORE")


def apply(changes: Changes, look: Look, default_scene: str) -> tuple[Any, str]:
    """Set up the file as ``look`` asks until ``changes`` ends; returns the scene and the device's name.

    Raises `Refusal` for names the file does not have, an engine other than Cycles, a frame that
    Blender cannot number, and a device that is not there.
    """
    scene = scene_named(look.scene, default_scene)
    window = bpy.context.window
    changes.set(window, "scene", scene)
    render = scene.render
    if look.engine == "cycles":
        changes.set(render, "engine", ENGINE)
    if render.engine != ENGINE and content.renders_3d(scene):
        raise Refusal(
            BAD_SCENE,
            f"The scene “{scene.name}” is set to render with {render.engine}, not Cycles.",
            "Choose Cycles in the file, or submit with --engine cycles.",
        )
    if look.camera is not None:
        use_camera(changes, scene, camera_named(scene, look.camera))
    if look.samples is not None:
        use_samples(changes, scene, look.samples)
    if look.percentage is not None:
        changes.set(render, "resolution_percentage", look.percentage)
    if not compat.renders_by_number():
        _frame(changes, scene, look.frame)
    for other in bpy.data.scenes:  # scenes can render each other through strips and the compositor
        _common(changes, other.render, look.threads)
    return scene, devices.choose(changes, look.device)


def _common(changes: Changes, render: Any, threads: int) -> None:
    changes.set(render, "use_overwrite", True)
    changes.set(render, "use_placeholder", False)
    changes.set_if_there(render, "compositor_device", "CPU")  # a headless machine has no GL to composite on
    changes.set_if_there(render, "compositor_denoise_device", "CPU")
    if threads:
        changes.set(render, "threads_mode", "FIXED")
        changes.set(render, "threads", threads)


def _frame(changes: Changes, scene: Any, frame: int) -> None:
    """One frame to animate, where the operator cannot be told which (see `compat.render_animation`)."""
    changes.undo(_range, scene, scene.frame_start, scene.frame_end)  # setting one can move the other
    changes.set(scene, "frame_step", 1)
    _range(scene, frame, frame)
    if (scene.frame_start, scene.frame_end) != (frame, frame):
        raise Refusal(
            BAD_SCENE,
            f"Blender cannot render frame {frame}: its frames start at 0.",
            "Move the animation to frames from 0 on.",
        )


def _range(scene: Any, start: int, end: int) -> None:
    scene.frame_start = start
    scene.frame_end = end
