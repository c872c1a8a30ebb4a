"""Finds what makes a frame depend on those before it: simulations that no bake has fixed.

Measured with bpy 5.2.3: what is not baked moves only where the timeline is played frame by frame, which
`playing` does. A render of an animation alone plays nothing: rigid bodies, soft bodies and simulation
zones stay where the file was saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workers.inside_blender import bakes, playing
from workers.inside_blender.affecting import affecting, is_shown
from workers.inside_blender.findings import Finding, finding, names

CURE = "Bake it in Blender and send the file again: then frames can be rendered on all workers."
#: Frames of scenes with this finding are each played in a process of their own (`workers.playhead`).
APART = "simulation-apart"

_KINDS = {
    "cloth": "Cloth is simulated frame by frame",
    "soft-body": "Soft bodies are simulated frame by frame",
    "particles": "Particles are simulated frame by frame",
    "hair-dynamics": "Hair is simulated frame by frame",
    "simulation-nodes": "Geometry nodes simulate frame by frame",
    "ik-history": "The iTaSC solver starts each frame from the one before",
    "rigid-bodies": "Rigid bodies are simulated frame by frame",
}
#: Kinds that a render disturbs where it looks between frames. Others only read what was played.
_DISTURBED = ("cloth", "soft-body", "particles", "hair-dynamics")
_STEPPING = ("NEWTON", "BOIDS", "FLUID")  # particles of other physics are a function of time


def in_order(scene: Any) -> list[Finding]:
    """Why frames of ``scene`` are rendered in their order; none where each stands alone."""
    found: dict[str, list[str]] = {}
    disturbed: list[str] = []
    unseen: list[str] = []
    for thing in affecting(scene):
        for kind, cache, modifier in _simulations(thing):
            found.setdefault(kind, []).append(thing.name)
            if kind in _DISTURBED and (playing.reach(scene) or (cache is not None and cache.use_disk_cache)):
                disturbed.append(thing.name)
            if not is_shown(thing, modifier):
                unseen.append(thing.name)
    if _rigid_bodies(scene):
        found["rigid-bodies"] = [scene.name]
    reasons = [
        finding(kind, "note", f"{what}: {names(found[kind])}.", CURE)
        for kind, what in _KINDS.items()
        if kind in found
    ]
    # Measured: beside others 3 of 32 processes played something else, with motion blur 10 of 48.
    if "rigid-bodies" in found and (len(found) > 1 or playing.reach(scene)):
        reasons.append(
            finding(
                "simulation-race",
                "warning",
                "Rigid bodies beside other simulations, or with motion blur: Blender does not play them "
                "alike each time, so that two renders of a frame can differ.",
                "Bake the rigid bodies in Blender and send the file again.",
            )
        )
    return [*reasons, *_apart(disturbed, unseen)]


def _apart(disturbed: list[str], unseen: list[str]) -> Iterator[Finding]:
    if disturbed or unseen:
        yield finding(
            APART,
            "note",
            "Rendering a frame disturbs what is simulated, so each frame is played from the first one on in "
            f"a process of its own: {names([*disturbed, *unseen])}.",
            CURE,
        )
    if unseen:
        yield finding(
            "simulation-unseen",
            "warning",
            f"Simulated for renders but hidden in the viewport, Blender does not play it: {names(unseen)}.",
            "Show it in the viewport, or bake it.",
        )


def unplayable(scene: Any) -> list[Finding]:
    """Simulations that playing does not bring back: kept on disk only, or baked there and left behind."""
    things = affecting(scene)
    lost = [thing.name for thing in things if any(map(bakes.is_lost, _caches(thing)))]
    on_disk = [
        thing.name
        for thing in things
        if any(_painted(thing)) or any(cache and cache.use_disk_cache for _, cache, _ in _simulations(thing))
    ]
    found = []
    if on_disk:
        found.append(
            finding(
                "unbaked-simulation",
                "warning",
                "What is not baked and keeps its frames on disk, beside the scene, cannot be played here: "
                f"{names(on_disk)}.",
                "Switch Disk Cache off. Turn Dynamic Paint into an image sequence or a mesh cache.",
            )
        )
    if lost:
        found.append(
            finding(
                "bake-missing",
                "warning",
                f"Baked to disk, but the bake did not come with the scene: {names(lost)}.",
                "Switch Disk Cache off and bake again, so that the bake lies inside of the file.",
            )
        )
    return found


def _simulations(thing: Any) -> Iterator[tuple[str, Any, Any]]:
    """(kind, point cache or None, modifier or None) of each simulation of ``thing`` without a bake."""
    for modifier in thing.modifiers:
        if not modifier.show_render:
            continue
        if modifier.type == "NODES":
            if bakes.unbaked_zones(thing, modifier):
                yield "simulation-nodes", None, modifier
            continue
        kind, cache = _point_cache(modifier)
        if kind and not cache.is_baked:
            yield kind, cache, modifier
    if thing.type == "ARMATURE" and _keeps_history(thing):
        yield "ik-history", None, None


def _point_cache(modifier: Any) -> tuple[str, Any]:
    if modifier.type == "CLOTH":
        return "cloth", modifier.point_cache
    if modifier.type == "SOFT_BODY":
        return "soft-body", modifier.point_cache
    if modifier.type == "PARTICLE_SYSTEM":
        system = modifier.particle_system
        if system.settings.type == "HAIR":
            return "hair-dynamics" if system.use_hair_dynamics else "", system.point_cache
        return "particles" if system.settings.physics_type in _STEPPING else "", system.point_cache
    return "", None


def _caches(thing: Any) -> Iterable[Any]:
    return (cache for kind, cache in map(_point_cache, thing.modifiers) if kind)


def _painted(thing: Any) -> Iterator[Any]:
    """Caches of Dynamic Paint without a bake; those of image sequences are images, and not counted."""
    for modifier in thing.modifiers:
        canvas = modifier.canvas_settings if modifier.type == "DYNAMIC_PAINT" else None
        for surface in canvas.canvas_surfaces if canvas and modifier.show_render else ():
            if surface.is_active and surface.surface_format == "VERTEX" and not surface.point_cache.is_baked:
                yield surface.point_cache


def _keeps_history(armature: Any) -> bool:
    pose = armature.pose
    solver = pose.ik_param if pose is not None and pose.ik_solver == "ITASC" else None
    if solver is None or solver.mode != "SIMULATION":
        return False
    return any(held.type == "IK" and not held.mute for bone in pose.bones for held in bone.constraints)


def _rigid_bodies(scene: Any) -> bool:
    world = scene.rigidbody_world
    if not world or not world.enabled or not world.collection or world.point_cache.is_baked:
        return False
    bodies = (thing.rigid_body for thing in world.collection.objects if thing.rigid_body)
    return any(body.type == "ACTIVE" and body.enabled and not body.kinematic for body in bodies)
