"""A courtyard by the sea from three cameras, bound to timeline markers.

Six frames: the markers at frames 1, 3 and 5 switch the camera, so a farm that renders one frame has
to pick the one that the markers say. A sphere rolls down the stairs meanwhile. JPEG.
"""

from __future__ import annotations

from math import radians

import bpy

from scenes import materials, shapes, studio

FRAMES = 6
RIMS = (
    (-0.75, -1.97, 2.38, 0.14),
    (-0.75, -0.53, 2.38, 0.14),
    (-1.87, -1.25, 0.14, 1.3),
    (0.37, -1.25, 0.14, 1.3),
)


def build() -> None:
    """Build the scene in the empty Blender this runs in."""
    scene = studio.stage("cameras", (480, 270), 20, (1, FRAMES), denoise=True)
    studio.output(scene, "JPEG")
    scene.render.image_settings.quality = 92
    coral = materials.surface("Coral wall", "#f0a58f", 0.85)
    cream = materials.surface("Cream wall", "#fbe8d3", 0.85)
    plum = materials.surface("Plum wall", "#b5728f", 0.85)
    _house(coral, cream, plum)
    _garden(cream)
    ball = shapes.ball("Ball", (0.0, 0.0, 0.0), 0.24, materials.surface("Ball", "#1f7a8c", 0.25))
    for index, start, end in ((0, 1.75, -0.3), (1, 0.1, -0.1), (2, 1.24, 0.24)):
        studio.move(ball, "location", {1: start, FRAMES: end}, index=index)

    studio.sun((-4.0, -3.2, 5.0), (0, 0, 0), 5.0, materials.colour("#ffe6c4"), soft=3.0)
    studio.sky(materials.colour("#ffd9c7"), materials.colour("#86b9e8"), 0.8)
    views = (
        ("Wide", (-5.6, -8.4, 4.6), (0.1, 0.3, 1.35), 41.0),
        ("Gate", (-0.85, -5.2, 1.0), (-0.85, 1.4, 1.32), 32.0),
        ("Above", (3.4, -4.0, 8.4), (0.15, 0.0, 0.5), 42.0),
    )
    for number, (name, at, target, lens) in enumerate(views):
        marker = scene.timeline_markers.new(name, frame=1 + 2 * number)
        marker.camera = studio.camera(at, target, lens, name=name)


def _house(coral: bpy.types.Material, cream: bpy.types.Material, plum: bpy.types.Material) -> None:
    shapes.box("Terrace", (0.0, 0.2, -0.25), (7.2, 5.6, 0.5), cream, bevel=0.05)
    shapes.arch("Gate wall", (-0.85, 1.4, 0.0), (2.5, 2.6), (1.25, 2.0), 0.45, coral)
    shapes.arch("Side wall", (-2.1, 0.25, 0.0), (2.3, 1.9), (1.1, 1.5), 0.35, plum).rotation_euler[2] = (
        radians(90)
    )
    shapes.box("Tower", (2.1, 1.7, 1.6), (1.7, 1.7, 3.2), coral, bevel=0.04)
    shapes.ball("Dome", (2.1, 1.7, 3.2), 0.72, materials.surface("Dome", "#3f8f9f", 0.35), levels=4)
    shapes.arch("Door", (2.1, 0.84, 0.0), (0.9, 1.5), (0.6, 1.25), 0.12, cream)
    dark = materials.surface("Shade", "#5a3350", 0.9)
    shapes.box("Doorway", (2.1, 0.86, 0.6), (0.6, 0.06, 1.2), dark, bevel=0.0)
    for x in (1.75, 2.45):
        shapes.arch("Window", (x, 0.84, 2.05), (0.42, 0.72), (0.26, 0.58), 0.1, cream)
        shapes.box("Pane", (x, 0.86, 2.32), (0.26, 0.05, 0.5), dark, bevel=0.0)
    for step in range(5):
        at, wide = (0.1 + 0.3 * step, 0.3) if step < 4 else (1.6, 0.9)
        high = 0.2 * (step + 1)
        shapes.box(f"Step {step + 1}", (at, 0.25, high / 2), (wide, 1.1, high), cream, bevel=0.015)


def _garden(cream: bpy.types.Material) -> None:
    water = materials.surface("Water", "#3fb3b8", 0.06)
    shapes.box("Sea", (0.0, 6.0, -0.6), (60.0, 60.0, 0.2), materials.surface("Sea", "#5fa9c9", 0.18))
    shapes.box("Pool", (-0.75, -1.25, 0.02), (2.1, 1.3, 0.04), water, bevel=0.01)
    for x, y, width, depth in RIMS:
        shapes.box("Rim", (x, y, 0.06), (width, depth, 0.12), cream, bevel=0.02)
    pot = materials.surface("Pot", "#c96f4f", 0.7)
    leaf = materials.surface("Cypress", "#3f7d5a", 0.8)
    for x, y, tall in ((-3.1, 1.9, 1.25), (-3.1, -1.6, 0.8), (3.05, -0.4, 1.1), (0.75, 2.2, 1.35)):
        shapes.cone("Pot", (x, y, 0.0), (0.18, 0.25), 0.34, pot, bevel=0.02)
        tree = shapes.ball("Cypress", (x, y, 0.3 + tall * 0.5), 0.5, leaf)
        tree.scale = (0.52, 0.52, tall)
    bloom = materials.surface("Bloom", "#f26d85", 0.7)
    for x, y, size in ((2.0, -1.7, 0.34), (2.45, -1.45, 0.26), (1.62, -1.9, 0.2)):
        shapes.ball("Bush", (x, y, size * 0.8), size, bloom)
