"""Materials of the sample scenes, all procedural. Colours go in as ``#rrggbb`` (sRGB)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

Colour = tuple[float, float, float, float]


def colour(code: str) -> Colour:
    """Linear RGBA of an sRGB ``#rrggbb`` (IEC 61966-2-1)."""
    parts = [int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return (red, green, blue, 1.0)


def surface(name: str, code: str, roughness: float = 0.5, **inputs: Any) -> bpy.types.Material:
    """A Principled surface; ``inputs`` are its sockets by name with ``_`` for spaces."""
    made = bpy.data.materials.new(name)
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = colour(code)
    shader.inputs["Roughness"].default_value = roughness
    for socket, value in inputs.items():
        shader.inputs[socket.replace("_", " ")].default_value = value
    made.diffuse_color = colour(code)
    return made


def metal(name: str, code: str, roughness: float = 0.25) -> bpy.types.Material:
    """A bare metal."""
    return surface(name, code, roughness, Metallic=1.0)


def glass(name: str, code: str, roughness: float = 0.0, ior: float = 1.45) -> bpy.types.Material:
    """Clear or frosted glass."""
    return surface(name, code, roughness, Transmission_Weight=1.0, IOR=ior)


def glow(name: str, code: str, strength: float) -> bpy.types.Material:
    """A surface that shines, in times of white."""
    return surface(name, code, 1.0, Emission_Color=colour(code), Emission_Strength=strength)


def ramp(node: bpy.types.Node, stops: Sequence[tuple[float, Colour]], *, hard: bool = False) -> None:
    """Set the stops of a colour ramp node; ``hard`` makes steps of them."""
    elements = node.color_ramp.elements
    node.color_ramp.interpolation = "CONSTANT" if hard else "LINEAR"
    while len(elements) < len(stops):
        elements.new(1.0)
    for element, (position, tint) in zip(elements, stops, strict=True):
        element.position, element.color = position, tint


def mottled(
    material: bpy.types.Material, codes: Sequence[str], scale: float, *, bump: float = 0.0
) -> bpy.types.Material:
    """Give ``material`` noise of several colours, and relief of strength ``bump``; gives it back."""
    tree = material.node_tree
    shader = tree.nodes["Principled BSDF"]
    place, noise, colours = (
        tree.nodes.new(kind) for kind in ("ShaderNodeTexCoord", "ShaderNodeTexNoise", "ShaderNodeValToRGB")
    )
    noise.inputs["Scale"].default_value = scale
    noise.inputs["Detail"].default_value = 5.0
    last = max(len(codes) - 1, 1)
    ramp(colours, [(0.35 + 0.3 * at / last, colour(code)) for at, code in enumerate(codes)])
    tree.links.new(place.outputs["Object"], noise.inputs["Vector"])
    tree.links.new(noise.outputs["Factor"], colours.inputs["Factor"])
    tree.links.new(colours.outputs["Color"], shader.inputs["Base Color"])
    if bump:
        relief = tree.nodes.new("ShaderNodeBump")
        relief.inputs["Strength"].default_value = bump
        tree.links.new(noise.outputs["Factor"], relief.inputs["Height"])
        tree.links.new(relief.outputs["Normal"], shader.inputs["Normal"])
    return material


def hazed(material: bpy.types.Material, code: str, near: float, far: float) -> bpy.types.Material:
    """Let ``material`` fade into haze of colour ``code`` between two distances from the camera.

    Haze without a volume: a volume would cost far more and cannot be cut into tiles exactly.
    """
    tree = material.node_tree
    shader, end = tree.nodes["Principled BSDF"], tree.nodes["Material Output"]
    view, reach, haze, mix = (
        tree.nodes.new(kind)
        for kind in (
            "ShaderNodeCameraData",
            "ShaderNodeMapRange",
            "ShaderNodeEmission",
            "ShaderNodeMixShader",
        )
    )
    haze.inputs["Color"].default_value = colour(code)
    reach.inputs["From Min"].default_value, reach.inputs["From Max"].default_value = near, far
    tree.links.new(view.outputs["View Z Depth"], reach.inputs["Value"])
    tree.links.new(reach.outputs["Result"], mix.inputs[0])
    tree.links.new(shader.outputs["BSDF"], mix.inputs[1])
    tree.links.new(haze.outputs["Emission"], mix.inputs[2])
    tree.links.new(mix.outputs["Shader"], end.inputs["Surface"])
    return material
