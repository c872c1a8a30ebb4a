"""Ceramics in window light: the still of the demo, rendered in tiles.

Turned vases on a table, a branch, lemons, the sun through a window out of sight. 960 × 540,
denoised, which a farm does once on the merged picture. 16-bit PNG.
"""

from __future__ import annotations

from math import cos, pi, radians, sin

import bpy
from mathutils import Vector

from scenes import materials, shapes, studio

AMPHORA = [
    (0.0, 0.0), (0.16, 0.0), (0.2, 0.03), (0.34, 0.3), (0.4, 0.55), (0.34, 0.82), (0.16, 1.02),
    (0.11, 1.14), (0.13, 1.24), (0.17, 1.29), (0.155, 1.3), (0.1, 1.2), (0.08, 1.1),
]  # fmt: skip
BOTTLE = [
    (0.0, 0.0), (0.24, 0.0), (0.27, 0.03), (0.28, 0.3), (0.25, 0.48), (0.1, 0.6), (0.06, 0.72),
    (0.055, 0.9), (0.075, 0.94), (0.07, 0.955), (0.04, 0.94), (0.035, 0.8),
]  # fmt: skip
BOWL = [
    (0.0, 0.02), (0.14, 0.0), (0.16, 0.02), (0.34, 0.12), (0.46, 0.27), (0.48, 0.33), (0.46, 0.335),
    (0.43, 0.27), (0.31, 0.14), (0.0, 0.07),
]  # fmt: skip


def build() -> None:
    """Build the scene in the empty Blender this runs in."""
    scene = studio.stage("still", (960, 540), 12, denoise=True)
    studio.output(scene, "PNG", "16")
    plaster = materials.surface("Plaster", "#d6b39d", 0.95)
    materials.mottled(plaster, ("#cda68e", "#dfc0ab"), 1.1)
    linen = materials.surface("Linen", "#eadcc8", 0.85)
    shapes.box("Wall", (0.0, 1.5, 2.0), (14.0, 0.2, 8.0), plaster)
    shapes.box("Table", (0.0, 0.0, -0.06), (9.0, 2.2, 0.12), linen, bevel=0.03)
    _pots()
    _lemons()
    _branch((-0.98, 0.28, 1.12))
    _window()
    studio.sun((-5.0, -4.6, 4.4), (0, 0, 0.4), 6.5, materials.colour("#ffdfba"), soft=1.2)
    studio.area("Room", (3.5, -3.5, 3.0), (0, 0, 0.5), 3.5, 70, materials.colour("#bcd0ff"))
    studio.world(materials.colour("#cdd8f0"), 0.32)
    studio.camera((0.25, -6.1, 1.5), (0.14, 0.2, 0.93), 58, fstop=1.2)


def _pots() -> None:
    terracotta = materials.surface("Terracotta", "#b0644a", 0.8)
    materials.mottled(terracotta, ("#a1573f", "#c07a5c"), 4.0)
    teal = materials.surface("Teal glaze", "#14525a", 0.16, Coat_Weight=0.8)
    materials.mottled(teal, ("#0e434b", "#2b7a78"), 3.0)
    cream = materials.surface("Cream glaze", "#f1e6d2", 0.3, Coat_Weight=0.5)
    shapes.lathe("Amphora", (-0.98, 0.3, 0.0), AMPHORA, terracotta)
    shapes.lathe("Bottle", (-0.2, 0.05, 0.0), BOTTLE, teal)
    shapes.lathe("Bowl", (0.82, 0.0, 0.0), BOWL, cream)
    tall = shapes.lathe("Tall bottle", (0.42, 0.55, 0.0), BOTTLE, cream)
    tall.scale = (0.85, 0.85, 1.35)


def _lemons() -> None:
    peel = materials.surface("Lemon", "#f2cf3a", 0.42)
    profile = [
        (0.0, -0.17),
        (0.03, -0.16),
        (0.08, -0.12),
        (0.125, 0.0),
        (0.09, 0.11),
        (0.03, 0.16),
        (0.0, 0.17),
    ]
    places = (
        ((0.72, -0.08, 0.27), (80, 0, 30)), ((0.95, -0.02, 0.28), (95, 20, -40)),
        ((0.84, 0.14, 0.3), (70, 10, 95)), ((0.84, 0.0, 0.42), (85, 5, 60)),
        ((0.18, -0.42, 0.122), (90, 0, 62)), ((1.52, -0.3, 0.122), (90, 0, -25)),
    )  # fmt: skip
    for number, (at, turn) in enumerate(places, start=1):
        lemon = shapes.lathe(f"Lemon {number}", at, profile, peel)
        lemon.rotation_euler = [radians(angle) for angle in turn]


def _branch(foot: tuple[float, float, float]) -> None:
    """Twigs with eucalyptus leaves that rise from ``foot``."""
    dice = studio.dice(8)
    bark = materials.surface("Bark", "#6d5140", 0.8)
    leaves = [materials.surface(f"Leaf {code}", code, 0.6) for code in ("#6f8f6a", "#8aa57b", "#56785f")]
    for twig, (lean, side) in enumerate(((-0.62, 0.1), (-0.2, -0.16), (0.3, 0.08), (0.66, -0.06)), start=1):
        length = dice.uniform(0.85, 1.1)
        points = [
            Vector(foot) + Vector((lean * s * (0.5 + 0.6 * s), side * s, length * s * (1 - 0.24 * s)))
            for s in (step / 12 for step in range(13))
        ]
        _stem(f"Twig {twig}", points, bark)
        for step in range(4, 13):
            for hand in (-1, 1):
                leaf = shapes.ball("Leaf", points[step], 1.0, dice.choice(leaves), levels=2)
                size = dice.uniform(0.055, 0.085) * (1.25 - step / 24)
                leaf.scale = (size, size * 0.86, size * 0.12)
                turn = dice.uniform(0, 2 * pi)
                leaf.location += Vector((hand * size * cos(turn), hand * size * sin(turn), size * 0.3))
                leaf.rotation_euler = (dice.uniform(0.3, 1.4), dice.uniform(-0.8, 0.8), turn)


def _stem(name: str, points: list[Vector], material: bpy.types.Material) -> None:
    curve = bpy.data.curves.new(name, "CURVE")
    curve.dimensions, curve.bevel_depth, curve.bevel_resolution = "3D", 0.012, 2
    line = curve.splines.new("POLY")
    line.points.add(len(points) - 1)
    for at, point in enumerate(points):
        line.points[at].co = (*point, 1.0)
        line.points[at].radius = 1.0 - 0.7 * at / len(points)
    curve.materials.append(material)
    bpy.context.scene.collection.objects.link(bpy.data.objects.new(name, curve))


def _window() -> None:
    """Bars between the sun and the table, out of the camera's sight: only their shadow is seen."""
    wood = materials.surface("Window", "#5a4636", 0.8)
    towards = Vector((-5.0, -4.6, 4.0)).normalized()
    frame = studio.empty("Window", towards * 4.2 + Vector((0.2, 0.9, 0.9)))
    frame.rotation_euler = towards.to_track_quat("Z", "Y").to_euler()
    bars = [((x, 0.0, 0.0), (0.07, 4.0, 0.05)) for x in (-1.5, -0.5, 0.5, 1.5)]
    bars += [((0.0, y, 0.0), (4.0, 0.07, 0.05)) for y in (-1.2, -0.1, 1.0)]
    bars += [((x, 0.0, 0.0), (6.0, 8.0, 0.05)) for x in (-4.5, 4.5)]
    bars += [((0.0, y, 0.0), (4.0, 4.0, 0.05)) for y in (-3.2, 3.0)]
    for at, size in bars:
        bar = shapes.box("Bar", at, size, wood, bevel=0.005)
        bar.parent = frame
        bar.visible_camera = False
