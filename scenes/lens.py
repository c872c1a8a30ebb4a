"""An armillary in front of fairy lights: depth of field and motion blur.

Three rings turn about different axes and small bodies ride on them, with the shutter open for
half a frame; the lens is nearly wide open, so that the lights behind become discs. PNG.
"""

from __future__ import annotations

from math import cos, pi, radians, sin

import bpy

from scenes import materials, shapes, studio

FRAMES = 8


def build() -> None:
    """Build the scene in the empty Blender this runs in."""
    scene = studio.stage("lens", (480, 270), 48, (1, FRAMES), denoise=True)
    studio.output(scene, "PNG")
    scene.render.use_motion_blur = True
    scene.render.motion_blur_shutter = 0.5

    table = materials.surface("Table", "#141a26", 0.22)
    shapes.box("Table", (0.0, 1.0, -1.32), (30.0, 8.0, 0.1), table)
    brass = materials.metal("Brass", "#e2ad4f", 0.2)
    copper = materials.metal("Copper", "#d07a52", 0.22)
    steel = materials.metal("Steel", "#c9d3e0", 0.18)
    _armillary(brass, copper, steel)
    _fairy_lights()

    studio.area("Key", (-2.6, -2.8, 3.2), (0, 0, 0), 2.4, 260, materials.colour("#ffdcae"))
    studio.area("Rim", (3.0, 2.2, 2.2), (0, 0, 0), 2.0, 260, materials.colour("#7fb0ff"))
    studio.area("Sheet", (3.6, -3.4, 1.2), (0, 0, 0), 2.6, 110, materials.colour("#ffc9a0"))
    studio.world(materials.colour("#22305a"), 0.7)
    studio.camera((0.0, -6.6, 0.7), (0.0, -0.2, -0.2), 64, fstop=0.2)


def _armillary(*metals: bpy.types.Material) -> None:
    core = materials.surface("Core", "#123a6b", 0.12, Coat_Weight=1.0)
    materials.mottled(core, ("#0c2d5e", "#1f6f8f", "#e8d9b0"), 2.6)
    shapes.ball("Core", (0.0, 0.0, 0.0), 0.36, core)
    shapes.cone("Stem", (0.0, 0.0, -1.3), (0.07, 0.05), 0.98, metals[0], bevel=0.01)
    shapes.cone("Foot", (0.0, 0.0, -1.3), (0.5, 0.12), 0.2, metals[0], bevel=0.04)
    tilts = ((90.0, 0.0), (62.0, 40.0), (24.0, -30.0))
    for at, (metal, (tilt, lean)) in enumerate(zip(metals, tilts, strict=True)):
        radius = 0.56 + 0.2 * at
        frame = studio.empty(f"Axis {at + 1}")
        frame.rotation_euler = (radians(tilt), radians(lean), 0.0)
        band = shapes.ring(f"Ring {at + 1}", (0.0, 0.0, 0.0), radius, 0.028, metal)
        band.parent = frame
        for seat in range(2):
            turn = pi * seat + at
            bead = shapes.ball(f"Bead {at + 1}.{seat + 1}", (0, 0, 0), 0.085 - 0.012 * at, metals[at - 1])
            bead.parent, bead.location = band, (radius * cos(turn), radius * sin(turn), 0.0)
        pace = radians((14.0, -9.0, 6.0)[at])  # a frame
        studio.move(band, "rotation_euler", {1: 0.0, FRAMES: pace * (FRAMES - 1)}, index=2)
        studio.move(frame, "rotation_euler", {1: radians(lean), FRAMES: radians(lean) + pace * 2.5}, index=1)


def _fairy_lights() -> None:
    dice = studio.dice(11)
    kinds = [
        materials.glow(f"Light {code}", code, strength)
        for code, strength in (("#ffb45e", 2.6), ("#ff7d54", 2.2), ("#ffe2ae", 2.2), ("#5fa8ff", 2.0))
    ]
    for number in range(34):
        place = (dice.uniform(-4.6, 4.6), dice.uniform(3.2, 7.0), dice.uniform(-0.9, 2.9))
        shapes.ball(f"Light {number + 1:02}", place, dice.uniform(0.09, 0.16), dice.choice(kinds), levels=1)
