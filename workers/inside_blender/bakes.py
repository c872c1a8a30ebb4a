"""Whether what a simulation needs is baked, and whether its bake is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy

_ZONE = "GeometryNodeSimulationOutput"
#: A folder that no process can make: where a copy of a packed bake is told to be unpacked.
_NOWHERE = "/dev/null/nowhere"


def is_lost(cache: Any) -> bool:
    """Whether a point cache is baked to files of its own, and there are none."""
    if not cache.is_baked or not (cache.use_disk_cache or cache.use_external):
        return False
    if cache.use_external:
        folder = Path(bpy.path.abspath(cache.filepath))
    else:
        blend = Path(bpy.data.filepath)
        folder = blend.with_name(f"blendcache_{blend.stem}")
    return not any(folder.glob("*.bphys"))


def unbaked_zones(thing: Any, modifier: Any) -> bool:
    """Whether a geometry nodes modifier has a simulation zone that is not baked.

    A Bake node that is not baked passes its input on, and needs nothing.
    """
    if not _simulates(modifier.node_group, set()):
        return False
    zones = [bake for bake in modifier.bakes if bake.node is not None and bake.node.bl_idname == _ZONE]
    return not zones or not all(_on_disk(modifier, bake) or _packed(thing, modifier, bake) for bake in zones)


def _simulates(tree: Any, seen: set[int]) -> bool:
    if tree is None or tree.as_pointer() in seen:
        return False
    seen.add(tree.as_pointer())
    nodes = [node for node in tree.nodes if not node.mute]
    groups = [node.node_tree for node in nodes if node.bl_idname == "GeometryNodeGroup"]
    return any(node.bl_idname == _ZONE for node in nodes) or any(_simulates(tree, seen) for tree in groups)


def _on_disk(modifier: Any, bake: Any) -> bool:
    if bake.use_custom_path:
        folder = Path(bpy.path.abspath(bake.directory)) if bake.directory else None
    else:
        base = modifier.bake_directory
        folder = Path(bpy.path.abspath(base), str(bake.bake_id)) if base else None
    return folder is not None and any(folder.glob("meta/*.json"))


def _packed(thing: Any, modifier: Any, bake: Any) -> bool:
    """Whether the bake lies inside of the file.

    Blender tells no script. But a copy that is told to unpack where nothing can be written fails over
    that where there is something to unpack, and ends quietly where there is not (measured with 5.2.3).
    """
    unpack = getattr(bpy.ops.object, "geometry_node_bake_unpack_single", None)
    if unpack is None:
        return False
    copy = thing.copy()
    try:
        twin = next(one for one in copy.modifiers[modifier.name].bakes if one.bake_id == bake.bake_id)
        twin.use_custom_path, twin.directory = True, _NOWHERE
        unpack(
            session_uid=copy.session_uid,
            modifier_name=modifier.name,
            bake_id=bake.bake_id,
            method="WRITE_ORIGINAL",
        )
    except RuntimeError:
        return True
    finally:
        bpy.data.objects.remove(copy)
    return False
