"""A gate at night: the compositor at work on a denoised picture, written as 16-bit PNG.

In-render denoising (OpenImageDenoise), then glare, lens distortion with dispersion and colour
balance in the scene's compositor, seen through AgX with a look. All of it works on the whole
picture: a farm that cuts frames has to do it once, after the merge.
"""

from __future__ import annotations

from math import radians

import bpy

from scenes import materials, shapes, studio


def build() -> None:
    """Build the scene in the empty Blender this runs in."""
    scene = studio.stage("grade", (480, 270), 24, denoise=True, look="AgX - Punchy", exposure=0.35)
    studio.output(scene, "PNG", "16")
    floor = materials.surface("Wet floor", "#0c1018", 0.12)
    materials.mottled(floor, ("#0a0e15", "#161d2a"), 1.4, bump=0.08)
    shapes.box("Floor", (0.0, 6.0, -0.05), (60.0, 40.0, 0.1), floor)
    _gate()
    _stones()
    studio.area("Moon", (-7.0, 3.0, 7.0), (0, 3, 1), 4.0, 4200, materials.colour("#4a6dff"))
    studio.sky(materials.colour("#6a3a78"), materials.colour("#101a3c"), 0.55)
    studio.camera((2.3, -7.4, 0.85), (0.05, 1.0, 1.62), 38)
    _develop(scene)


def _gate() -> None:
    rose = materials.glow("Rose tube", "#ff3d6e", 9.0)
    ice = materials.glow("Ice tube", "#38c8ff", 8.0)
    chrome = materials.metal("Chrome", "#cfd8e6", 0.16)
    for name, place, radius, thickness, tube in (
        ("Gate", 1.0, 1.55, 0.045, rose),
        ("Second gate", 2.4, 1.3, 0.025, ice),
        ("Third gate", 3.8, 1.05, 0.02, rose),
    ):
        ring = shapes.ring(name, (0.0, place, 1.75), radius, thickness, tube)
        ring.rotation_euler = (radians(90), 0.0, 0.0)
    crystal = materials.surface("Crystal", "#dfe9ff", 0.08, Coat_Weight=1.0)
    shard = shapes.ball("Shard", (0.0, 1.0, 1.75), 0.55, crystal, levels=0)
    shard.scale = (0.7, 0.7, 1.3)
    shard.data.shade_flat()
    shapes.cone("Stair 1", (0.0, 1.0, 0.0), (2.3, 2.3), 0.09, chrome, bevel=0.02)
    shapes.cone("Stair 2", (0.0, 1.0, 0.09), (1.7, 1.7), 0.09, chrome, bevel=0.02)


def _stones() -> None:
    dice = studio.dice(5)
    slate = materials.surface("Slate", "#3a4258", 0.42)
    materials.mottled(slate, ("#2c3346", "#4c566e"), 2.2)
    for side in (-1, 1):
        for row in range(6):
            height = 0.9 + 0.45 * row + dice.uniform(0.0, 0.5)
            place = (side * (2.5 + 0.75 * row), 0.2 + 1.35 * row, height / 2)
            stone = shapes.box(f"Stone {side}.{row}", place, (0.5, 0.5, height), slate, bevel=0.03)
            stone.rotation_euler[2] = dice.uniform(-0.5, 0.5)


def _develop(scene: bpy.types.Scene) -> None:
    """Render Layers → Glare → Lens Distortion → Color Balance → output."""
    tree = bpy.data.node_groups.new("Grade", "CompositorNodeTree")
    tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
    scene.compositing_node_group = tree
    layers, glare, lens, balance, end = (
        tree.nodes.new(kind)
        for kind in (
            "CompositorNodeRLayers",
            "CompositorNodeGlare",
            "CompositorNodeLensdist",
            "CompositorNodeColorBalance",
            "NodeGroupOutput",
        )
    )
    glare.inputs["Type"].default_value = "Bloom"
    glare.inputs["Quality"].default_value = "High"
    glare.inputs["Threshold"].default_value = 1.2
    glare.inputs["Strength"].default_value = 0.45
    glare.inputs["Size"].default_value = 0.6
    lens.inputs["Distortion"].default_value = 0.02
    lens.inputs["Dispersion"].default_value = 0.012
    lens.inputs["Fit"].default_value = True
    balance.inputs["Color Lift"].default_value = (0.97, 0.99, 1.06, 1.0)
    balance.inputs["Color Gain"].default_value = (1.06, 1.0, 0.97, 1.0)
    for at, node in enumerate((layers, glare, lens, balance, end)):
        node.location = (260 * at, 0)
    for before, after in ((layers, glare), (glare, lens), (lens, balance), (balance, end)):
        tree.links.new(before.outputs["Image"], after.inputs["Image"])
