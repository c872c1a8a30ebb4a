"""A small planet that turns: the light animation of the demo and the benchmark.

24 frames that loop: everything on the planet repeats three times around it, so a third of a turn
brings it back. Few polygons, about a second a frame on two cores, denoised. PNG.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, radians, sin

import bpy
from mathutils import Vector

from scenes import materials, shapes, studio

FRAMES = 24
THIRD = 2 * pi / 3
# Latitude and longitude in radians, radius of the ball that makes it.
ISLANDS = (
    (0.32, 0.1, 0.6), (0.1, 0.42, 0.4), (0.62, -0.25, 0.42),
    (-0.5, 0.85, 0.5), (-0.36, 1.2, 0.4), (0.62, 1.25, 0.4), (-0.05, -0.5, 0.26), (-0.75, 0.1, 0.3),
)  # fmt: skip


def build() -> None:
    """Build the scene in the empty Blender this runs in."""
    scene = studio.stage("turntable", (400, 225), 16, (1, FRAMES), denoise=True)
    scene.cycles.denoising_prefilter = "FAST"
    studio.output(scene, "PNG")
    tilt = studio.empty("Tilt")
    tilt.rotation_euler = (radians(12), radians(-16), 0.0)
    planet = _spinning("Planet", tilt, THIRD)
    air = _spinning("Air", tilt, 2 * THIRD)
    _land(planet)
    _life(planet)
    _air(air)
    studio.area("Sun", (-3.6, -4.0, 4.4), (0, 0, 0), 1.6, 560, materials.colour("#ffe2b8"))
    studio.area("Rim", (4.2, 2.6, 1.2), (0, 0, 0), 2.0, 330, materials.colour("#ff9ec4"))
    studio.sky(materials.colour("#ffc7a0"), materials.colour("#8fa4f0"), 1.15)
    studio.camera((0.0, -7.8, 1.0), (0.0, 0.0, 0.1), 60)


def _spinning(name: str, parent: bpy.types.Object, turn: float) -> bpy.types.Object:
    """A parent that makes ``turn`` radians in the length of the loop, ending a frame before its start."""
    made = studio.empty(name)
    made.parent = parent
    studio.move(made, "rotation_euler", {1: 0.0, FRAMES + 1: turn}, index=2)
    return made


def _land(planet: bpy.types.Object) -> None:
    sea = shapes.ball("Sea", (0, 0, 0), 1.0, materials.surface("Sea", "#3fb0bf", 0.3), levels=4)
    sea.parent = planet
    grass = materials.surface("Grass", "#8fbf4d", 0.9)
    sand = materials.surface("Sand", "#f0d9a0", 0.9)
    for latitude, longitude, width in ISLANDS:
        for material, grow, rise in ((sand, 1.12, 0.0), (grass, 1.0, 0.02)):
            # A ball that is sunk into the sea leaves a round, gently domed island.
            radius = width * grow
            ground = shapes.ball("Island", (0, 0, 0), radius, material)
            for third in range(3):
                island = ground if third == 0 else shapes.twin(ground)
                island.location = _direction(latitude, longitude + third * THIRD) * (1 + rise - radius * 0.93)
                island.parent = planet
    for pole in (-1, 1):
        ice = shapes.ball("Ice", (0, 0, 0.62 * pole), 0.43, materials.surface("Ice", "#f4f7fa", 0.5))
        ice.parent = planet


def _life(planet: bpy.types.Object) -> None:
    dice = studio.dice(3)
    greens = [materials.surface(f"Leaf {code}", code, 0.8) for code in ("#2f7d4f", "#4b9a53", "#e0803f")]
    wood = materials.surface("Wood", "#7a5236", 0.8)
    plaster = materials.surface("Plaster", "#f5ead8", 0.7)
    roof = materials.surface("Roof", "#c8473d", 0.6)
    woods = [
        (
            shapes.cone("Trunk", (0, 0, 0), (0.018, 0.014), 0.1, wood, sides=8),
            shapes.cone("Crown", (0, 0, 0.07), (0.085, 0.0), 0.14, leaf, sides=14),
            shapes.cone("Top", (0, 0, 0.15), (0.062, 0.0), 0.12, leaf, sides=14),
        )
        for leaf in greens
    ]
    for latitude, longitude, width in ISLANDS:
        for _ in range(round(26 * width * width)):
            reach, turn = width * 0.3 * dice.uniform(0.25, 1.0) ** 0.5, dice.uniform(0, 2 * pi)
            kind, size = dice.choice(woods), dice.uniform(0.75, 1.25)
            for third in range(3):
                place = longitude + third * THIRD + reach * cos(turn) / cos(latitude)
                _stand(kind, planet, _direction(latitude + reach * sin(turn), place), size)
    house = (
        shapes.box("House", (0, 0, 0.055), (0.11, 0.09, 0.11), plaster, bevel=0.004),
        shapes.cone("Roof", (0, 0, 0.11), (0.1, 0.0), 0.085, roof, sides=4),
    )
    for latitude, longitude in ((0.3, 0.12), (0.4, 0.0), (-0.5, 0.88), (0.12, 0.46)):
        for third in range(3):
            _stand(house, planet, _direction(latitude, longitude + third * THIRD), 1.15)


def _air(air: bpy.types.Object) -> None:
    white = materials.surface("Cloud", "#ffffff", 0.9)
    red, cream = materials.surface("Balloon", "#e2553f", 0.5), materials.surface("Gore", "#fbe9c6", 0.5)
    cloud = [
        shapes.ball("Puff", (0.13 * at, 0.0, 0.02 * (at % 2)), radius, white, levels=2)
        for at, radius in ((-1, 0.07), (0, 0.1), (1, 0.075))
    ]
    balloon = (
        shapes.ball("Envelope", (0, 0, 0.18), 0.13, red, levels=2),
        shapes.ring("Band", (0, 0, 0.18), 0.125, 0.018, cream, sides=32, round_=8),
        shapes.cone("Basket", (0, 0, -0.03), (0.03, 0.036), 0.05, cream, sides=12),
    )
    for third in range(3):
        for latitude, longitude, size in ((0.12, 0.6, 1.0), (-0.35, 1.6, 0.8), (0.75, -0.3, 0.7)):
            _stand(cloud, air, _direction(latitude, longitude + third * THIRD), size, height=1.3)
        _stand(balloon, air, _direction(0.62, 2.2 + third * THIRD), 1.0, height=1.3)


def _direction(latitude: float, longitude: float) -> Vector:
    """Unit vector of a place on the planet; radians, longitude 0 faces the camera."""
    return Vector((cos(latitude) * sin(longitude), -cos(latitude) * cos(longitude), sin(latitude)))


def _stand(
    parts: Sequence[bpy.types.Object],
    parent: bpy.types.Object,
    up: Vector,
    size: float,
    *,
    height: float = 1.0,
) -> None:
    """Stand ``parts``, modelled around the origin, upright on the planet.

    The first place takes the parts themselves, every other one twins of them.
    """
    foot = studio.empty("Place")
    foot.parent = parent
    foot.location = up * height
    foot.rotation_euler = up.to_track_quat("Z", "Y").to_euler()
    foot.scale = (size, size, size)
    for part in parts:
        placed = part if part.parent is None else shapes.twin(part)
        placed.parent = foot
