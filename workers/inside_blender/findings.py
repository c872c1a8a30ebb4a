"""What an inspection finds wrong, blocking or worth knowing about a scene; each with its cure.

A finding is plain JSON of ``farm.domain.scene.Finding``. Codes are stable: machines and tests read them.
"""

from __future__ import annotations

from typing import Any

import bpy

from workers.inside_blender import compat, content

Finding = dict[str, str]


def finding(code: str, weight: str, what: str, cure: str = "") -> Finding:
    """One finding; ``weight`` is error, warning or note."""
    return {"code": code, "weight": weight, "what": what, "cure": cure}


def general(scene: Any, engine: str) -> list[Finding]:
    """Errors, warnings and notes about rendering ``scene``; ``engine`` is the request's."""
    found = [*_engine(scene, engine), *_camera(scene), *_fluids(scene), *_scripts(), *_output(scene)]
    version = tuple(bpy.data.version[:2])
    if version > tuple(bpy.app.version[:2]):
        found.append(
            finding(
                "newer-file",
                "warning",
                f"The file was saved by Blender {version[0]}.{version[1]}; it is read by {compat.version()}, "
                "which may lose what is new.",
                "Use a worker with the newer Blender, or save the file for this one.",
            )
        )
    return found


def _engine(scene: Any, engine: str) -> list[Finding]:
    asked = scene.render.engine
    if asked == "CYCLES" or not content.renders_3d(scene):
        return []
    if engine == "cycles":
        return [finding("engine-forced", "note", f"The file asks for {asked}; it is rendered with Cycles.")]
    return [
        finding(
            "engine-not-cycles",
            "error",
            f"The scene “{scene.name}” is set to render with {asked}, not Cycles.",
            "Choose Cycles in the file, or submit with --engine cycles.",
        )
    ]


def _camera(scene: Any) -> list[Finding]:
    bound = any(marker.camera for marker in scene.timeline_markers)
    if scene.camera or bound or not content.renders_3d(scene) or content.uses_sequencer(scene):
        return []
    return [
        finding(
            "no-camera",
            "error",
            f"The scene “{scene.name}” has no camera.",
            "Add a camera to the scene, or name one with --camera.",
        )
    ]


def _fluids(scene: Any) -> list[Finding]:
    fluids = [
        thing.name
        for thing in scene.objects
        for modifier in thing.modifiers
        if modifier.type == "FLUID" and modifier.fluid_type == "DOMAIN"
    ]
    if not fluids:
        return []
    return [
        finding(
            "fluid-domain",
            "warning",
            f"Fluid domains make this build of Blender abort: {names(fluids)}.",
            "Remove the fluid, or replace it by its baked result as a volume or mesh cache.",
        )
    ]


def _scripts() -> list[Finding]:
    if not bpy.app.autoexec_fail:
        return []
    return [
        finding(
            "scripts-blocked",
            "warning",
            f"The file wants to run Python, which the farm does not allow: {bpy.app.autoexec_fail_message}.",
            "Bake what the scripts and drivers do, or use simple driver expressions.",
        )
    ]


def _output(scene: Any) -> list[Finding]:
    asked = content.unwritable(scene)
    if not asked:
        return []
    what = f"The output is {asked}: frames are written as {content.stands_in(scene)}."
    return [finding("png-instead", "note", what)]


def names(items: list[str], most: int = 5) -> str:
    """``“a”, “b” and 3 more``, in order, each once."""
    unique = list(dict.fromkeys(items))
    listed = ", ".join(f"“{item}”" for item in unique[:most])
    return listed if len(unique) <= most else f"{listed} and {len(unique) - most} more"
