"""A misty grove: much geometry that is slow to prepare and quick to render.

The sync-heavy scene of the benchmark. Each of some seventy trees and stones is subdivided, displaced
by procedural textures and thinned out again, so that Blender and Cycles need many seconds to prepare
them, and then a second or so for the pixels. Only the camera moves over its 24 frames: with the scene
kept in memory, what was prepared for one frame serves the next. PNG.
"""

from __future__ import annotations

from random import Random

import bpy

from scenes import materials, shapes, studio

FRAMES = 24
HAZE = "#f3cfae"


def build() -> None:
    """Build the scene in the empty Blender this runs in."""
    scene = studio.stage("forest", (352, 198), 6, (1, FRAMES), denoise=True)
    scene.cycles.denoising_prefilter = "FAST"
    scene.cycles.diffuse_bounces = 1
    studio.output(scene, "PNG")
    dice = studio.dice(21)
    rough = _texture("Foliage", "CLOUDS", 0.42, 8)
    fine = _texture("Leaves", "VORONOI", 0.13, 0)
    _ground(_texture("Dunes", "CLOUDS", 2.2, 5))
    _trees(dice, rough, fine)
    _stones(dice, rough)
    _lanterns()
    studio.sun((-7.0, 9.0, 5.2), (0, 0, 0), 6.5, materials.colour("#ffd7a1"), soft=3.0)
    studio.area("Sky light", (4.0, -6.0, 7.0), (0, 3, 0), 7.0, 600, materials.colour("#a9c4ff"))
    studio.sky(materials.colour(HAZE), materials.colour("#a9c6f0"), 1.1)
    eye = studio.camera((0.0, -7.0, 1.25), (0.0, 4.0, 1.35), 36)
    studio.move(eye, "location", {1: -0.35, FRAMES: 0.35}, index=0)
    studio.move(eye, "location", {1: -7.0, FRAMES: -6.2}, index=1)


def _texture(name: str, kind: str, size: float, depth: int) -> bpy.types.Texture:
    made = bpy.data.textures.new(name, kind)
    made.noise_scale = size
    if kind == "CLOUDS":
        made.noise_depth = depth
    return made


def _ground(dunes: bpy.types.Texture) -> None:
    moss = materials.surface("Moss", "#7d8f4a", 0.95)
    materials.mottled(moss, ("#5f7a3f", "#a39a52"), 0.9)
    materials.hazed(moss, HAZE, 7.0, 24.0)
    corners = [(-16.0, -9.0, 0.0), (16.0, -9.0, 0.0), (16.0, 24.0, 0.0), (-16.0, 24.0, 0.0)]
    ground = shapes.mesh("Ground", corners, [(0, 1, 2, 3)], moss, smooth=True)
    shapes.subdivide(ground, render=8).modifiers["Finer"].subdivision_type = "SIMPLE"
    shapes.displace(ground, 0.5, dunes)


def _trees(dice: Random, rough: bpy.types.Texture, fine: bpy.types.Texture) -> None:
    bark = materials.hazed(materials.surface("Bark", "#4f3a33", 0.9), HAZE, 6.0, 22.0)
    leaves = [
        materials.hazed(materials.surface(f"Leaves {code}", code, 0.85), HAZE, 6.0, 22.0)
        for code in ("#2f6b5b", "#4f8a5c", "#d98a3d", "#c9573f", "#8fa84f")
    ]
    for number in range(58):
        row = number // 6
        side = -1 if number % 2 else 1
        x = side * (1.5 + 1.35 * (number % 6 // 2) + dice.uniform(-0.35, 0.35) + 0.16 * row)
        y = -3.0 + 2.3 * row + dice.uniform(-0.8, 0.8)
        tall, wide = dice.uniform(1.3, 2.3), dice.uniform(0.6, 0.9)
        shapes.cone(f"Trunk {number + 1}", (x, y, -0.3), (0.13, 0.06), tall + 0.4, bark, sides=12)
        crown = shapes.ball(
            f"Crown {number + 1}", (x, y, tall + wide * 0.55), wide, dice.choice(leaves), levels=1
        )
        crown.scale = (1.0, 1.0, dice.uniform(0.95, 1.35))
        shapes.subdivide(crown, render=5 if row < 2 else 4)  # the near ones finer
        shapes.displace(crown, 0.55, rough)
        shapes.displace(crown, -0.16, fine)
        shapes.reduce(crown, 0.5)


def _stones(dice: Random, rough: bpy.types.Texture) -> None:
    granite = materials.surface("Granite", "#a59c98", 0.8)
    materials.hazed(granite, HAZE, 6.0, 22.0)
    for number in range(14):
        side = -1 if number % 2 else 1
        size = dice.uniform(0.16, 0.4)
        at = (side * dice.uniform(0.75, 1.5), -4.2 + 0.9 * number, size * 0.3)
        stone = shapes.ball(f"Stone {number + 1}", at, size, granite, levels=1)
        stone.scale = (1.25, 1.0, 0.72)
        shapes.subdivide(stone, render=4)
        shapes.displace(stone, 0.3 * size, rough)


def _lanterns() -> None:
    flame = materials.glow("Flame", "#ffcf7a", 6.0)
    flame.cycles.emission_sampling = "NONE"  # seen, not counted on for light
    for number, at in enumerate(((-0.55, -1.6, 0.95), (0.5, 1.2, 1.1), (-0.2, 4.5, 1.4)), start=1):
        shapes.ball(f"Lantern {number}", at, 0.08, flame, levels=2)
