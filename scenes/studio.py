"""The studio that the sample scenes share: render settings, camera, lights, backdrop, movement.

Lengths are metres, angles degrees, light power watts, colours linear RGBA from `materials.colour`.
Runs inside the Blender process of `scenes.builder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, radians, sin
from random import Random

import bpy
from mathutils import Vector

from scenes import materials, shapes
from scenes.materials import Colour

Point = Sequence[float]
WHITE: Colour = (1.0, 1.0, 1.0, 1.0)


def stage(
    name: str,
    size: tuple[int, int],
    samples: int,
    frames: tuple[int, int] = (1, 1),
    *,
    denoise: bool = False,
    look: str = "AgX - Medium High Contrast",
    exposure: float = 0.0,
) -> bpy.types.Scene:
    """Name the scene and set it up for Cycles: ``size`` in pixels, ``frames`` first and last.

    Adaptive sampling is off and the seed fixed, so that every pixel is the same on every run.
    """
    scene = bpy.context.scene
    scene.name = name
    scene.frame_start, scene.frame_end = frames
    scene.frame_set(frames[0])
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y = size
    scene.render.resolution_percentage = 100
    scene.render.fps = 24
    scene.render.filepath = f"//{name}_####"
    scene.render.compositor_device = "CPU"
    cycles = scene.cycles
    cycles.samples = samples
    cycles.seed = 7
    cycles.use_adaptive_sampling = False
    cycles.use_denoising = denoise
    cycles.denoiser = "OPENIMAGEDENOISE"
    cycles.denoising_use_gpu = False
    # Few bounces, few lights to choose from, no caustics: what a still life needs, at two cores'
    # pace and without fireflies.
    cycles.use_light_tree = False
    cycles.max_bounces, cycles.diffuse_bounces, cycles.glossy_bounces = 5, 2, 2
    cycles.transmission_bounces = 5
    cycles.caustics_reflective = cycles.caustics_refractive = False
    cycles.sample_clamp_indirect = 4.0
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = look
    scene.view_settings.exposure = exposure
    return scene


def output(scene: bpy.types.Scene, file_format: str, depth: str = "8", mode: str = "RGB") -> None:
    """Choose the file that a frame is written as; ``depth`` is bits a channel as Blender spells it."""
    settings = scene.render.image_settings
    layered = file_format == "OPEN_EXR_MULTILAYER"
    settings.media_type = "MULTI_LAYER_IMAGE" if layered else "IMAGE"  # first: it limits the formats
    settings.file_format = file_format
    if not layered:
        settings.color_mode = mode
    if file_format != "JPEG":
        settings.color_depth = depth


def camera(
    at: Point, target: Point, lens: float = 50.0, *, name: str = "Camera", fstop: float = 0.0
) -> bpy.types.Object:
    """A camera at ``at`` that looks at ``target``; focused on it where ``fstop`` is not 0."""
    data = bpy.data.cameras.new(name)
    data.lens = lens
    data.dof.use_dof = fstop > 0
    data.dof.focus_distance = (Vector(target) - Vector(at)).length
    if fstop > 0:
        data.dof.aperture_fstop = fstop
    made = _placed(name, data, at, target)
    if bpy.context.scene.camera is None:
        bpy.context.scene.camera = made
    return made


def area(
    name: str,
    at: Point,
    target: Point,
    size: float,
    power: float,
    tint: Colour = WHITE,
    *,
    group: str = "",
) -> bpy.types.Object:
    """A square soft light with edges of ``size``, out of the camera's sight."""
    data = bpy.data.lights.new(name, "AREA")
    data.size, data.energy, data.color = size, power, tint[:3]
    made = _placed(name, data, at, target)
    made.visible_camera = False
    made.lightgroup = group
    return made


def sun(
    at: Point, target: Point, strength: float, tint: Colour = WHITE, soft: float = 2.0
) -> bpy.types.Object:
    """Sunlight from ``at`` towards ``target``; ``strength`` in W/m², ``soft`` its angle."""
    data = bpy.data.lights.new("Sun", "SUN")
    data.energy, data.color, data.angle = strength, tint[:3], radians(soft)
    return _placed("Sun", data, at, target)


def world(tint: Colour, strength: float = 1.0, *, group: str = "") -> bpy.types.World:
    """An even surrounding light."""
    made = bpy.data.worlds.new("World")
    background = made.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = tint
    background.inputs["Strength"].default_value = strength
    made.cycles.sampling_method = "NONE"  # an even light needs no sampling of its own
    made.lightgroup = group
    bpy.context.scene.world = made
    return made


def sky(horizon: Colour, zenith: Colour, strength: float = 1.0) -> bpy.types.World:
    """A surrounding light that goes from ``horizon`` (20° below level) to ``zenith`` (40° above)."""
    made = world(horizon, strength)
    tree = made.node_tree
    place, split, reach, ramp = (
        tree.nodes.new(kind)
        for kind in (
            "ShaderNodeTexCoord",
            "ShaderNodeSeparateXYZ",
            "ShaderNodeMapRange",
            "ShaderNodeValToRGB",
        )
    )
    reach.inputs["From Min"].default_value = -sin(radians(20))
    reach.inputs["From Max"].default_value = sin(radians(40))
    materials.ramp(ramp, [(0.0, horizon), (1.0, zenith)])
    tree.links.new(place.outputs["Generated"], split.inputs[0])
    tree.links.new(split.outputs["Z"], reach.inputs["Value"])
    tree.links.new(reach.outputs["Result"], ramp.inputs["Factor"])
    tree.links.new(ramp.outputs["Color"], tree.nodes["Background"].inputs["Color"])
    return made


def backdrop(
    material: bpy.types.Material, *, width: float = 16.0, back: float = 4.0, height: float = 8.0
) -> bpy.types.Object:
    """A photographer's paper sweep: floor at z = 0 that bends up into a wall at y = ``back``."""
    bend, steps = min(2.0, height / 2), 16
    arc = [
        (back - bend + bend * sin(step / steps * pi / 2), bend - bend * cos(step / steps * pi / 2))
        for step in range(steps + 1)
    ]
    line = [(-14.0, 0.0), *arc, (back, height)]
    vertices = [(side * width / 2, y, z) for y, z in line for side in (-1, 1)]
    faces = [(2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2) for i in range(len(line) - 1)]
    return shapes.mesh("Backdrop", vertices, faces, material, smooth=True)


def move(
    target: bpy.types.Object,
    path: str,
    keys: dict[int, float],
    *,
    index: int = 0,
    shape: str = "LINEAR",
) -> None:
    """Animate one channel; ``keys`` maps frames to values (radians for rotations).

    The straight kind goes on at the same pace outside of its keys, so that loops close and
    motion blur at the first and last frame is right.
    """
    for frame, value in keys.items():
        getattr(target, path)[index] = value
        target.keyframe_insert(path, index=index, frame=frame)
    bag = target.animation_data.action.layers[0].strips[0].channelbags[0]
    curve = bag.fcurves.find(path, index=index)
    for key in curve.keyframe_points:
        key.interpolation = shape
    curve.extrapolation = "LINEAR" if shape == "LINEAR" else "CONSTANT"
    curve.update()


def dice(seed: int) -> Random:
    """Chance that falls the same way on every build."""
    return Random(seed)  # noqa: S311 - arranges trees, keeps no secrets


def empty(name: str, at: Point = (0.0, 0.0, 0.0)) -> bpy.types.Object:
    """A parent for what turns together."""
    made = bpy.data.objects.new(name, None)
    made.location = at
    bpy.context.scene.collection.objects.link(made)
    return made


def _placed(name: str, data: bpy.types.ID, at: Point, target: Point) -> bpy.types.Object:
    made = bpy.data.objects.new(name, data)
    made.location = at
    made.rotation_euler = (Vector(target) - Vector(at)).to_track_quat("-Z", "Y").to_euler()
    bpy.context.scene.collection.objects.link(made)
    return made
