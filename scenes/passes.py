"""Plinths and materials: every kind of render pass, written as multilayer EXR.

Cryptomatte (object, material, asset), colour and value AOVs, light groups, object and material
index, depth, mist, position, normal, UV, vector and all light passes. No denoising, no adaptive
sampling and no depth of field: a frame in tiles must equal the frame whole in every one of them.
"""

from __future__ import annotations

from math import radians

import bpy

from scenes import materials, shapes, studio

PASSES = (
    "z", "mist", "position", "normal", "vector", "uv", "object_index", "material_index", "shadow",
    "ambient_occlusion", "emit", "environment",
    "diffuse_direct", "diffuse_indirect", "diffuse_color",
    "glossy_direct", "glossy_indirect", "glossy_color",
    "transmission_direct", "transmission_indirect", "transmission_color",
    "subsurface_direct", "subsurface_indirect", "subsurface_color",
    "cryptomatte_object", "cryptomatte_material", "cryptomatte_asset",
)  # fmt: skip
LIGHT_GROUPS = ("key", "fill", "lamp")


def build() -> None:
    """Build the scene in the empty Blender this runs in."""
    scene = studio.stage("passes", (480, 270), 40)
    studio.output(scene, "OPEN_EXR_MULTILAYER", "32")
    layer = scene.view_layers[0]
    layer.name = "Beauty"
    for name in PASSES:
        setattr(layer, f"use_pass_{name}", True)
    for name in LIGHT_GROUPS:
        layer.lightgroups.add(name=name)
    for name, kind in (("pattern", "COLOR"), ("facing", "VALUE")):
        aov = layer.aovs.add()
        aov.name, aov.type = name, kind

    clay = materials.surface("Clay", "#bf7a5f", 0.75)
    cream = materials.surface("Cream", "#efe0cc", 0.6)
    _arrange(clay, cream)
    for number, material in enumerate(sorted(bpy.data.materials, key=lambda each: each.name), start=1):
        material.pass_index = number
        _write_aovs(material)
    for number, thing in enumerate(sorted(bpy.data.objects, key=lambda each: each.name), start=1):
        thing.pass_index = number

    studio.area("Key", (-3.4, -3.4, 4.6), (0, 0, 0.7), 2.6, 380, materials.colour("#ffeedd"), group="key")
    studio.area("Fill", (4.5, -2.5, 2.2), (0, 0, 0.8), 3.0, 110, materials.colour("#b9ccff"), group="fill")
    studio.world(materials.colour("#f3e4dc"), 0.3, group="fill")
    scene.world.mist_settings.start, scene.world.mist_settings.depth = 4.0, 8.0
    studio.camera((0.0, -7.2, 2.0), (0.0, 0.0, 0.92), 55)


def _arrange(clay: bpy.types.Material, cream: bpy.types.Material) -> None:
    rose = materials.surface("Rose paper", "#e3bfb0", 0.9)
    teal = materials.surface("Teal lacquer", "#0f5c63", 0.18, Coat_Weight=1.0)
    brass = materials.metal("Brass", "#d9a441", 0.22)
    crystal = materials.glass("Glass", "#e6f4f1", 0.02)
    wax = materials.surface("Wax", "#f2b8a0", 0.35, Subsurface_Weight=0.6, Subsurface_Scale=0.1)
    velvet = materials.surface("Velvet", "#6a2a4a", 0.9, Sheen_Weight=1.0)
    lamp = materials.glow("Lamp", "#ffdfb0", 3.0)
    lamp.cycles.emission_sampling = "NONE"  # found by chance: half of the samples are better spent

    studio.backdrop(rose, back=2.6)
    steps = shapes.box("Step low", (-1.55, 0.35, 0.2), (1.5, 1.3, 0.4), cream)
    shapes.box("Step high", (-1.85, 0.65, 0.6), (0.9, 0.7, 0.4), cream)
    steps.asset_mark()  # so that the asset layer of Cryptomatte has something of its own
    shapes.cone("Plinth", (0.15, 0.3, 0.0), (0.62, 0.62), 0.75, clay, bevel=0.03)
    shapes.cone("Column", (1.55, 0.75, 0.0), (0.36, 0.36), 1.5, cream, bevel=0.03)
    shapes.ball("Lacquered ball", (-1.15, 0.1, 0.7), 0.3, teal)
    arch = shapes.ring("Brass ring", (0.15, 0.3, 1.36), 0.5, 0.11, brass)
    arch.rotation_euler = (radians(90), 0.0, radians(24))
    shapes.ball("Glass ball", (0.15, 0.3, 1.36), 0.28, crystal)
    shapes.ball("Wax ball", (1.55, 0.75, 1.8), 0.3, wax)
    shapes.ball("Velvet ball", (0.98, -0.45, 0.26), 0.26, velvet)
    shapes.cone("Brass cone", (-0.62, -0.55, 0.0), (0.24, 0.0), 0.62, brass, bevel=0.01)
    bulb = shapes.ball("Lamp", (-1.9, 0.7, 1.08), 0.28, lamp)
    bulb.lightgroup = "lamp"
    shapes.ball("Pearl", (1.95, -0.35, 0.16), 0.16, lamp).lightgroup = "lamp"


def _write_aovs(material: bpy.types.Material) -> None:
    tree = material.node_tree
    cells, facing = tree.nodes.new("ShaderNodeTexVoronoi"), tree.nodes.new("ShaderNodeLayerWeight")
    for name, socket, source in (
        ("pattern", "Color", cells.outputs["Color"]),
        ("facing", "Value", facing.outputs["Facing"]),
    ):
        end = tree.nodes.new("ShaderNodeOutputAOV")
        end.aov_name = name
        tree.links.new(source, end.inputs[socket])
