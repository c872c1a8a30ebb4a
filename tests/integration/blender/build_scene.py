"""Builds small scenes: each line of input is a Python literal, (path, keywords of `build`).

A line ``built PATH`` answers each. One process builds them all: starting Blender costs more than a scene.
"""

from __future__ import annotations

import ast
import math
import sys
from typing import Any

import bpy

PASSES = (
    "z",
    "normal",
    "position",
    "object_index",
    "material_index",
    "diffuse_direct",
    "diffuse_indirect",
    "diffuse_color",
    "glossy_direct",
    "cryptomatte_object",
    "cryptomatte_material",
    "mist",
)


def build(
    path: str,
    *,
    width: int = 161,
    height: int = 91,
    samples: int = 4,
    denoise: bool = False,
    compositor: str = "",
    output: str = "//renders/shot_####",
    file_format: str = "PNG",
    camera: bool = True,
    layers: int = 1,
    objects: int = 5,
    extra: str = "",
    variants: dict[str, str] | None = None,
) -> None:
    """A few lit monkeys that move, out of focus; `extra` is code run at the end with `scene` in reach.

    ``variants`` are further scenes of the file by name: copies, with a world and a compositor of their
    own, that their code has changed.
    """
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    render = scene.render
    render.engine, scene.cycles.device = "CYCLES", "CPU"
    scene.cycles.samples, scene.cycles.use_adaptive_sampling = samples, False
    scene.cycles.use_denoising = denoise
    render.resolution_x, render.resolution_y, render.resolution_percentage = width, height, 100
    render.use_motion_blur = True
    scene.frame_start, scene.frame_end = 1, 10
    scene.world = bpy.data.worlds.new("World")
    if scene.world.node_tree is None:
        scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.2, 0.3, 0.5, 1)
    for index in range(objects):
        monkey(index)
    bpy.ops.object.light_add(type="AREA", location=(3, -4, 6))
    bpy.context.object.data.energy = 500
    if camera:
        add_camera(scene, "Camera")
    for name in PASSES:
        setattr(scene.view_layers[0], f"use_pass_{name}", True)
    for index in range(1, layers):
        scene.view_layers.new(f"Layer {index}").use_pass_mist = True
    if compositor:
        composite(scene, compositor)
    save_as(scene, file_format)
    render.filepath = output
    run(extra, scene)
    for name, code in (variants or {}).items():
        variant = scene.copy()
        variant.name, variant.world = name, scene.world.copy()
        variant.use_fake_user = True  # a copy has no user, and would not be saved
        bpy.context.window.scene = variant
        if compositor:
            composite(variant, compositor)
        run(code, variant)
    bpy.context.window.scene = scene
    bpy.ops.wm.save_as_mainfile(filepath=path, compress=False)


def run(code: str, scene: Any) -> None:
    reach = {
        "bpy": bpy,
        "scene": scene,
        "add_camera": add_camera,
        "output_node": output_node,
        "save_as": save_as,
    }
    exec(code, reach)  # noqa: S102


def save_as(scene: Any, file_format: str) -> None:
    settings = scene.render.image_settings
    settings.media_type = {"OPEN_EXR_MULTILAYER": "MULTI_LAYER_IMAGE", "FFMPEG": "VIDEO"}.get(
        file_format, "IMAGE"
    )
    settings.file_format = file_format
    if "EXR" in file_format:
        settings.color_depth = "32"


def monkey(index: int) -> None:
    bpy.ops.mesh.primitive_monkey_add(
        location=((index - 2) * 2.2, index % 2 * 2.0, 0), rotation=(0, 0, index * 0.4)
    )
    thing = bpy.context.object
    thing.pass_index = index + 1
    material = bpy.data.materials.new(f"Material {index}")
    if material.node_tree is None:
        material.use_nodes = True
    surface = material.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (index / 5, 0.5, 1 - index / 5, 1)
    surface.inputs["Roughness"].default_value = index / 5
    if index == 2:
        surface.inputs["Emission Strength"].default_value = 9
        surface.inputs["Emission Color"].default_value = (1, 0.6, 0.2, 1)
    thing.data.materials.append(material)
    thing.keyframe_insert("location", frame=1)
    thing.location.x += 1
    thing.keyframe_insert("location", frame=10)


def add_camera(scene: Any, name: str, x: float = 0.0) -> Any:
    bpy.ops.object.camera_add(location=(x, -9, 4), rotation=(math.radians(67), 0, 0))
    camera = bpy.context.object
    camera.name = name
    camera.data.dof.use_dof, camera.data.dof.focus_distance = True, 9
    camera.data.dof.aperture_fstop = 0.4
    if scene.camera is None:
        scene.camera = camera
    return camera


def composite(scene: Any, kind: str) -> None:
    """``glare``: Cryptomatte tint and glare; ``nested``: two Render Layers nodes, one inside a group."""
    tree = bpy.data.node_groups.new("Composite", "CompositorNodeTree")
    scene.compositing_node_group = tree
    tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    source = tree.nodes.new("CompositorNodeRLayers")
    source.scene = scene
    glare = tree.nodes.new("CompositorNodeGlare")
    glare.inputs["Threshold"].default_value = 0.8
    matte = tree.nodes.new("CompositorNodeCryptomatteV2")
    matte.scene = scene
    matte.matte_id = "Suzanne.001,Suzanne.003"
    tint = tree.nodes.new("ShaderNodeMix")
    tint.data_type = "RGBA"
    first, second = (socket for socket in tint.inputs if socket.type == "RGBA")
    second.default_value = (1, 0, 0, 1)
    mixed = next(socket for socket in tint.outputs if socket.type == "RGBA")
    tree.links.new(source.outputs["Image"], matte.inputs["Image"])
    tree.links.new(matte.outputs["Matte"], tint.inputs["Factor"])
    tree.links.new(nested(scene, tree) if kind == "nested" else source.outputs["Image"], first)
    tree.links.new(mixed, glare.inputs["Image"])
    tree.links.new(glare.outputs["Image"], tree.nodes.new("NodeGroupOutput").inputs[0])
    muted = tree.nodes.new("CompositorNodeRLayers")
    muted.scene, muted.mute = scene, True


def nested(scene: Any, tree: Any) -> Any:
    """The last view layer out of a group that holds its own Render Layers node."""
    group = bpy.data.node_groups.new("Inner", "CompositorNodeTree")
    group.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    inner = group.nodes.new("CompositorNodeRLayers")
    inner.scene, inner.layer = scene, scene.view_layers[-1].name
    group.links.new(inner.outputs["Image"], group.nodes.new("NodeGroupOutput").inputs[0])
    node = tree.nodes.new("CompositorNodeGroup")
    node.node_tree = group
    return node.outputs[0]


def output_node(scene: Any, directory: str, names: tuple[str, ...], file_name: str = "") -> None:
    """A File Output node that saves the picture under each of ``names``."""
    tree = scene.compositing_node_group
    node = tree.nodes.new("CompositorNodeOutputFile")
    node.directory, node.file_name = directory, file_name
    node.format.media_type, node.format.file_format = "IMAGE", "PNG"
    source = next(other for other in tree.nodes if other.bl_idname == "CompositorNodeRLayers")
    for name in names:
        node.file_output_items.new("RGBA", name)
    for socket in node.inputs:
        if socket.type == "RGBA":
            tree.links.new(source.outputs["Image"], socket)


if __name__ == "__main__":
    for line in sys.stdin:
        target, options = ast.literal_eval(line)
        build(target, **options)
        sys.stdout.write(f"built {target}\n")
        sys.stdout.flush()
