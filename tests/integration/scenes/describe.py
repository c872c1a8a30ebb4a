"""Describe .blend files as JSON, a line on stdout for each: runs in a Blender process of its own.

Every plain property of every data-block, reached through Blender's own type information, so that a
scene that came out differently in any of them is told apart. Addresses and identities of the session
are left out, vertices go in as their hash.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import bpy

KINDS = (
    "scenes", "objects", "meshes", "curves", "materials", "lights", "cameras", "worlds", "textures",
    "actions", "node_groups", "collections",
)  # fmt: skip
# Session identity, and what says itself again somewhere else.
SKIPPED = {"rna_type", "session_uid", "original", "filepath", "is_evaluated", "library"}

# Structs that are part of what points to them; every other pointer is a reference, and named only.
OWNED = {
    "render", "image_settings", "cycles", "view_settings", "display_settings", "node_tree", "color_ramp",
    "dof", "layer_collection", "interface", "format", "mist_settings", "animation_data", "texture_mapping",
}  # fmt: skip
WALKED = {
    "modifiers", "nodes", "links", "inputs", "elements", "layers", "strips", "channelbags", "fcurves",
    "keyframe_points", "view_layers", "children", "timeline_markers", "aovs", "lightgroups", "splines",
    "points", "file_output_items", "items_tree", "material_slots", "objects", "materials",
}  # fmt: skip


def describe(value: Any) -> Any:
    """The plain properties of a Blender struct and of its parts; references by name."""
    if isinstance(value, bpy.types.NodeLink):
        return [getattr(value, end).name for end in ("from_node", "from_socket", "to_node", "to_socket")]
    found: dict[str, Any] = {"type": value.bl_rna.identifier}
    for prop in value.bl_rna.properties:
        name = prop.identifier
        if name in SKIPPED or name.startswith("active_"):
            continue
        held = getattr(value, name, None)
        if prop.type == "COLLECTION":
            if name in WALKED:
                found[name] = [
                    each.name if isinstance(each, bpy.types.ID) else describe(each)
                    for each in held or ()
                    if each
                ]
        elif isinstance(held, bpy.types.bpy_struct):
            owned = name in OWNED and (held.is_embedded_data if isinstance(held, bpy.types.ID) else True)
            found[name] = describe(held) if owned else getattr(held, "name", held.bl_rna.identifier)
        elif getattr(prop, "is_array", False):
            found[name] = [round(part, 6) if isinstance(part, float) else part for part in _flat(held)]
        elif isinstance(held, float):
            found[name] = round(held, 6)
        else:
            found[name] = sorted(held) if isinstance(held, set) else held
    if isinstance(value, bpy.types.Mesh):
        places = [0.0] * (3 * len(value.vertices))
        value.vertices.foreach_get("co", places)
        corners = [list(face.vertices) for face in value.polygons]
        found["geometry"] = hashlib.sha256(json.dumps([places, corners]).encode()).hexdigest()
    return found


def _flat(held: Any) -> list[Any]:
    flat: list[Any] = []
    for part in held:
        flat.extend(_flat(part) if hasattr(part, "__len__") else [part])
    return flat


def summary(scene: bpy.types.Scene) -> dict[str, Any]:
    """What the tests ask about by name."""
    layers = {
        layer.name: sorted(
            prop.identifier
            for prop in [*layer.bl_rna.properties]
            if prop.identifier.startswith("use_pass_") and getattr(layer, prop.identifier)
        )
        for layer in scene.view_layers
    }
    return {
        "blocked_scripts": bpy.app.autoexec_fail,
        "engine": scene.render.engine,
        "size": [scene.render.resolution_x, scene.render.resolution_y],
        "frames": [scene.frame_start, scene.frame_end],
        "files": sorted(path for paths in bpy.data.file_path_map().values() for path in paths),
        "images": [image.name for image in bpy.data.images],
        "texts": [text.name for text in bpy.data.texts],
        "drivers": [
            thing.name for thing in bpy.data.objects if thing.animation_data and thing.animation_data.drivers
        ],
        "layers": layers,
        "aovs": {aov.name: aov.type for aov in scene.view_layers[0].aovs},
        "lightgroups": sorted(group.name for group in scene.view_layers[0].lightgroups),
        "lit_by": sorted({thing.lightgroup for thing in bpy.data.objects} - {""}),
        "assets": [thing.name for thing in bpy.data.objects if thing.asset_data],
        "object_indices": sorted(thing.pass_index for thing in bpy.data.objects if thing.type == "MESH"),
        "material_indices": sorted(material.pass_index for material in bpy.data.materials),
        "markers": {marker.frame: marker.camera.name for marker in scene.timeline_markers if marker.camera},
        "camera": scene.camera.name,
        "compositor": [node.bl_idname for node in scene.compositing_node_group.nodes]
        if scene.compositing_node_group
        else [],
        "holdouts": [
            f"{layer.name}/{child.name}"
            for layer in scene.view_layers
            for child in layer.layer_collection.children
            if child.holdout
        ],
        "catchers": [
            thing.name for thing in bpy.data.objects if thing.type == "MESH" and thing.is_shadow_catcher
        ],
        "format": [
            scene.render.image_settings.file_format,
            scene.render.image_settings.color_depth,
            scene.render.image_settings.color_mode,
        ],
        "view": [scene.view_settings.view_transform, scene.view_settings.look],
        "denoise": scene.cycles.use_denoising,
        "adaptive": scene.cycles.use_adaptive_sampling,
        "transparent": scene.render.film_transparent,
        "motion_blur": scene.render.use_motion_blur,
        "depth_of_field": scene.camera.data.dof.use_dof,
        "moving": sorted(thing.name for thing in bpy.data.objects if thing.animation_data),
        "subdivided": sum(
            any(modifier.type == "SUBSURF" and modifier.render_levels >= 4 for modifier in thing.modifiers)
            for thing in bpy.data.objects
        ),
    }


def described(path: str) -> dict[str, Any]:
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
    everything = {kind: {each.name: describe(each) for each in getattr(bpy.data, kind)} for kind in KINDS}
    dump = json.dumps(everything, sort_keys=True, default=str).replace(json.dumps(path)[1:-1], "PATH")
    return {
        "path": path,
        "summary": summary(bpy.context.scene),
        "bytes": len(dump),
        "dump": hashlib.sha256(dump.encode()).hexdigest(),
    }


if __name__ == "__main__":
    for file in sys.argv[1:]:
        sys.stdout.write(f"\n{json.dumps(described(file))}\n")
