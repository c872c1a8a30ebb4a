"""Shapes of the sample scenes: small meshes that modifiers make smooth. Lengths are metres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, pi, radians, sin

import bmesh
import bpy

Point = Sequence[float]
SHARP = radians(35)


def mesh(
    name: str,
    vertices: Sequence[Point],
    faces: Sequence[Sequence[int]],
    material: bpy.types.Material | None,
    *,
    at: Point = (0.0, 0.0, 0.0),
    smooth: bool = False,
) -> bpy.types.Object:
    """An object of the given vertices and faces, linked to the scene."""
    data = bpy.data.meshes.new(name)
    data.from_pydata(vertices, [], faces)
    return _linked(name, data, material, at, smooth)


def box(
    name: str, at: Point, size: Point, material: bpy.types.Material, *, bevel: float = 0.02
) -> bpy.types.Object:
    """A box around ``at`` with rounded edges."""

    def form(work: bmesh.types.BMesh) -> None:
        bmesh.ops.create_cube(work, size=1.0)
        bmesh.ops.scale(work, verts=work.verts, vec=size)

    made = _formed(name, material, at, False, form)
    _bevelled(made, bevel)
    return made


def ball(
    name: str, at: Point, radius: float, material: bpy.types.Material, *, levels: int = 3
) -> bpy.types.Object:
    """A smooth sphere."""

    def form(work: bmesh.types.BMesh) -> None:
        bmesh.ops.create_icosphere(work, subdivisions=levels + 1, radius=radius)

    return _formed(name, material, at, True, form)


def cone(
    name: str,
    at: Point,
    radii: tuple[float, float],
    height: float,
    material: bpy.types.Material,
    *,
    sides: int = 48,
    bevel: float = 0.0,
) -> bpy.types.Object:
    """A cylinder or cone that stands on ``at``; ``radii`` at its foot and its top."""

    def form(work: bmesh.types.BMesh) -> None:
        bmesh.ops.create_cone(
            work, cap_ends=True, segments=sides, radius1=radii[0], radius2=radii[1], depth=height
        )
        bmesh.ops.translate(work, verts=work.verts, vec=(0.0, 0.0, height / 2))

    made = _formed(name, material, at, True, form)
    made.data.set_sharp_from_angle(angle=SHARP)
    if bevel:
        _bevelled(made, bevel)
    return made


def ring(
    name: str,
    at: Point,
    radius: float,
    thickness: float,
    material: bpy.types.Material,
    *,
    sides: int = 96,
    round_: int = 20,
) -> bpy.types.Object:
    """A torus in the x-y plane; ``thickness`` is the radius of its tube."""
    vertices, faces = [], []
    for i in range(sides):
        turn = 2 * pi * i / sides
        for j in range(round_):
            roll = 2 * pi * j / round_
            reach = radius + thickness * cos(roll)
            vertices.append((reach * cos(turn), reach * sin(turn), thickness * sin(roll)))
            k, m = (i + 1) % sides, (j + 1) % round_
            faces.append((i * round_ + j, k * round_ + j, k * round_ + m, i * round_ + m))
    return mesh(name, vertices, faces, material, at=at, smooth=True)


def lathe(
    name: str, at: Point, profile: Sequence[tuple[float, float]], material: bpy.types.Material
) -> bpy.types.Object:
    """A turned body: ``profile`` is a line of (radius, height) from the foot to the lip, made smooth."""
    vertices = [(radius, 0.0, height) for radius, height in profile]
    data = bpy.data.meshes.new(name)
    data.from_pydata(vertices, [(i, i + 1) for i in range(len(vertices) - 1)], [])
    made = _linked(name, data, material, at, True)
    turn = made.modifiers.new("Turn", "SCREW")
    turn.steps = turn.render_steps = 24
    turn.use_merge_vertices = turn.use_normal_calculate = True
    subdivide(made, render=2)
    return made


def arch(
    name: str,
    at: Point,
    size: tuple[float, float],
    opening: tuple[float, float],
    depth: float,
    material: bpy.types.Material,
) -> bpy.types.Object:
    """A wall of (width, height) that stands on ``at``, with a round-headed opening of (width, height)."""
    half, radius, spring = size[0] / 2, opening[0] / 2, opening[1] - opening[0] / 2
    inner, outer = [(-radius, 0.0)], [(-half, 0.0)]
    for step in range(33):
        turn = pi * (1 - step / 32)
        x = cos(turn) * radius
        inner.append((x, spring + sin(turn) * radius))
        outer.append((x / radius * half, size[1]))
    inner.append((radius, 0.0))
    outer.append((half, 0.0))
    outline = [point for pair in zip(inner, outer, strict=True) for point in pair]
    vertices = [(x, 0.0, z) for x, z in outline]
    faces = [(2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2) for i in range(len(inner) - 1)]
    made = mesh(name, vertices, faces, material, at=at)
    thick = made.modifiers.new("Thickness", "SOLIDIFY")
    thick.thickness, thick.offset = depth, 0.0
    return made


def twin(of: bpy.types.Object) -> bpy.types.Object:
    """Another object with the same mesh: Cycles builds and keeps that mesh once."""
    made = of.copy()
    bpy.context.scene.collection.objects.link(made)
    return made


def subdivide(made: bpy.types.Object, render: int, screen: int = 0) -> bpy.types.Object:
    """Make ``made`` finer by ``render`` levels in the picture and ``screen`` in the viewport."""
    finer = made.modifiers.new("Finer", "SUBSURF")
    finer.render_levels, finer.levels = render, screen
    return made


def displace(made: bpy.types.Object, strength: float, texture: bpy.types.Texture) -> bpy.types.Object:
    """Push the surface along its normals by a procedural texture, placed by the world."""
    relief = made.modifiers.new("Relief", "DISPLACE")
    relief.texture, relief.strength, relief.texture_coords = texture, strength, "GLOBAL"
    return made


def reduce(made: bpy.types.Object, ratio: float) -> bpy.types.Object:
    """Collapse edges until ``ratio`` of the faces is left, in the picture only, because it is slow."""
    lean = made.modifiers.new("Leaner", "DECIMATE")
    lean.ratio, lean.show_viewport = ratio, False
    return made


def _formed(
    name: str,
    material: bpy.types.Material,
    at: Point,
    smooth: bool,
    form: Callable[[bmesh.types.BMesh], object],
) -> bpy.types.Object:
    work = bmesh.new()
    form(work)
    data = bpy.data.meshes.new(name)
    work.to_mesh(data)
    work.free()
    return _linked(name, data, material, at, smooth)


def _bevelled(made: bpy.types.Object, width: float) -> None:
    made.data.shade_smooth()
    edge = made.modifiers.new("Edge", "BEVEL")
    edge.width, edge.segments, edge.harden_normals = width, 3, True
    edge.limit_method, edge.angle_limit = "ANGLE", SHARP


def _linked(
    name: str, data: bpy.types.Mesh, material: bpy.types.Material | None, at: Point, smooth: bool
) -> bpy.types.Object:
    data.validate()
    if smooth:
        data.shade_smooth()
    if material is not None:
        data.materials.append(material)
    made = bpy.data.objects.new(name, data)
    made.location = at
    bpy.context.scene.collection.objects.link(made)
    return made
