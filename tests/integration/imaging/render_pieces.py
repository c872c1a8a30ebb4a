"""Runs in a process of its own: render a small scene whole and in pieces, as a farm would.

Arguments: a JSON file with ``width``, ``height``, ``whole`` (path) and ``pieces``, a list of
{"path", "border": [min_x, max_x, min_y, max_y]}, and ``ranges``, a list of
{"path", "samples": [first, count]}.
The scene has two view layers with depth of field, Cryptomatte, normal, depth, mist, position, index and
light passes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import bpy


def build(width: int, height: int) -> Any:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    for index, (x, y) in enumerate([(-1.6, 0.2), (0.1, -0.4), (1.5, 0.9)]):
        bpy.ops.mesh.primitive_monkey_add(location=(x, y, 0.6), size=1.3)
        thing = bpy.context.object
        material = bpy.data.materials.new(f"Paint {index}")
        material.use_nodes = True
        shader = material.node_tree.nodes["Principled BSDF"]
        shader.inputs["Base Color"].default_value = (0.9 - 0.3 * index, 0.2 + 0.3 * index, 0.4, 1)
        material.pass_index = index + 3
        thing.data.materials.append(material)
        thing.pass_index = index + 10
    bpy.ops.mesh.primitive_plane_add(size=9)
    bpy.ops.object.light_add(type="AREA", location=(2, -3, 5))
    bpy.context.object.data.energy = 400
    bpy.ops.object.camera_add(location=(0, -6, 2.4), rotation=(1.25, 0, 0))
    camera = bpy.context.object
    camera.data.dof.use_dof = True
    camera.data.dof.focus_distance = 5.5
    camera.data.dof.aperture_fstop = 0.8
    scene.camera = camera

    first = scene.view_layers[0]
    first.name = "Beauty"
    second = scene.view_layers.new("Ids only")
    for name in (
        "use_pass_z",
        "use_pass_mist",
        "use_pass_diffuse_direct",
        "use_pass_diffuse_color",
        "use_pass_normal",
        "use_pass_position",
        "use_pass_object_index",
        "use_pass_material_index",
        "use_pass_cryptomatte_object",
        "use_pass_cryptomatte_material",
    ):
        setattr(first, name, True)
    second.use_pass_combined = True
    second.use_pass_object_index = True

    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = 4
    scene.cycles.use_adaptive_sampling = False
    scene.cycles.use_denoising = False
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.resolution_percentage = 100
    scene.render.use_persistent_data = True
    scene.render.use_compositing = False
    scene.render.use_sequencer = False
    scene.render.use_stamp = False
    scene.render.image_settings.media_type = "MULTI_LAYER_IMAGE"
    scene.render.image_settings.file_format = "OPEN_EXR_MULTILAYER"
    scene.render.image_settings.color_depth = "32"
    scene.render.image_settings.exr_codec = "ZIP"
    return scene


def render(scene: Any, path: str, border: list[float] | None) -> None:
    scene.render.use_border = scene.render.use_crop_to_border = border is not None
    if border is not None:
        (
            scene.render.border_min_x,
            scene.render.border_max_x,
            scene.render.border_min_y,
            scene.render.border_max_y,
        ) = border
    scene.render.filepath = path
    bpy.ops.render.render(write_still=True)


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text())
    scene = build(order["width"], order["height"])
    render(scene, order["whole"], None)
    for piece in order["pieces"]:
        render(scene, piece["path"], piece["border"])
    for each in order["ranges"]:
        scene.cycles.use_sample_subset = True
        scene.cycles.sample_offset, scene.cycles.sample_subset_length = each["samples"]
        render(scene, each["path"], None)


main()
