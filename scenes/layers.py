"""A flacon on nothing: view layers, transparent film, shadow catcher, holdout and a File Output node.

The layer Front has the flacon and the shadow it throws on a floor that is not there; the layer Back
has what floats behind it, with the flacon cut out. The compositor lays both over a colour and writes
the matte of the front to a file of its own. PNG with alpha.
"""

from __future__ import annotations

from math import radians

import bpy

from scenes import materials, shapes, studio


def build() -> None:
    """Build the scene in the empty Blender this runs in."""
    scene = studio.stage("layers", (400, 400), 32)
    studio.output(scene, "PNG", "8", "RGBA")
    scene.render.film_transparent = True
    scene.view_settings.look, scene.view_settings.view_transform = "None", "Standard"
    front, back = _collection("Flacon"), _collection("Floating")
    floor = _collection("Floor")
    _flacon()
    _gather(front)
    _floating()
    _gather(back)
    catcher = shapes.box(
        "Floor", (0.0, 0.0, -0.02), (12.0, 12.0, 0.04), materials.surface("Floor", "#ffffff")
    )
    catcher.is_shadow_catcher = True
    _gather(floor)
    studio.area("Key", (-3.0, -2.6, 4.4), (0, 0, 0.6), 1.6, 330, materials.colour("#fff0dc"))
    studio.area("Strip", (3.4, -1.2, 2.0), (0, 0, 0.8), 1.8, 130, materials.colour("#ffd0e0"))
    studio.world(materials.colour("#e8e2ff"), 0.45)
    studio.camera((0.0, -6.0, 1.5), (0.0, 0.0, 0.86), 62)

    scene.view_layers[0].name = "Front"
    scene.view_layers[0].layer_collection.children["Floating"].exclude = True
    second = scene.view_layers.new("Back")
    second.layer_collection.children["Floor"].exclude = True
    second.layer_collection.children["Flacon"].holdout = True
    _compose(scene)


def _collection(name: str) -> bpy.types.Collection:
    made = bpy.data.collections.new(name)
    bpy.context.scene.collection.children.link(made)
    return made


def _gather(into: bpy.types.Collection) -> None:
    """Move what was just made into a collection of its own, so that layers can choose."""
    loose = bpy.context.scene.collection.objects
    for each in list(loose):
        into.objects.link(each)
        loose.unlink(each)


def _flacon() -> None:
    amber = materials.surface("Amber", "#f08a4b", 0.14, Coat_Weight=1.0)
    gold = materials.metal("Gold", "#e3b45c", 0.18)
    label = materials.surface("Label", "#fff6ea", 0.6)
    shapes.box("Body", (0.0, 0.0, 0.6), (1.06, 0.5, 1.2), amber, bevel=0.14)
    shapes.box("Label", (0.0, -0.262, 0.56), (0.5, 0.02, 0.36), label, bevel=0.006)
    shapes.cone("Neck", (0.0, 0.0, 1.2), (0.15, 0.15), 0.12, gold, bevel=0.015)
    shapes.cone("Cap", (0.0, 0.0, 1.32), (0.21, 0.21), 0.38, gold, bevel=0.03)


def _floating() -> None:
    rose = materials.surface("Rose", "#f2799b", 0.45)
    lilac = materials.surface("Lilac", "#a48be0", 0.35)
    sun = materials.surface("Sun", "#ffcf6b", 0.5)
    halo = shapes.ring("Halo", (0.0, 1.6, 1.15), 1.25, 0.1, rose)
    halo.rotation_euler = (radians(90), 0.0, 0.0)
    for number, (at, radius, material) in enumerate((
        ((-1.1, 0.9, 1.75), 0.26, lilac), ((1.18, 1.2, 0.55), 0.34, sun), ((0.98, 0.8, 1.95), 0.15, rose),
        ((-1.22, 1.3, 0.5), 0.18, sun), ((0.5, 2.2, 1.5), 0.2, lilac), ((-0.45, 1.9, 1.0), 0.16, sun),
    ), start=1):  # fmt: skip
        shapes.ball(f"Drop {number}", at, radius, material)


def _compose(scene: bpy.types.Scene) -> None:
    """Front over Back over a colour; the front's alpha also to a File Output node."""
    tree = bpy.data.node_groups.new("Layers", "CompositorNodeTree")
    tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    scene.compositing_node_group = tree
    front, back, low, high, file, end = (
        tree.nodes.new(kind)
        for kind in (
            "CompositorNodeRLayers",
            "CompositorNodeRLayers",
            "CompositorNodeAlphaOver",
            "CompositorNodeAlphaOver",
            "CompositorNodeOutputFile",
            "NodeGroupOutput",
        )
    )
    front.layer, back.layer = "Front", "Back"
    low.inputs["Background"].default_value = materials.colour("#f7cfc4")
    file.directory, file.file_name = "//", "matte_"
    file.format.media_type = "IMAGE"
    file.format.file_format, file.format.color_mode, file.format.color_depth = "PNG", "BW", "8"
    file.file_output_items.new("FLOAT", "Front")
    for at, node in enumerate((back, low, front, high, file, end)):
        node.location = (260 * at, 0)
    tree.links.new(back.outputs["Image"], low.inputs["Foreground"])
    tree.links.new(low.outputs["Image"], high.inputs["Background"])
    tree.links.new(front.outputs["Image"], high.inputs["Foreground"])
    tree.links.new(high.outputs["Image"], end.inputs["Image"])
    tree.links.new(front.outputs["Alpha"], file.inputs["Front"])
