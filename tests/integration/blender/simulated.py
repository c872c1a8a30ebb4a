"""Scenes that simulate, as code for `build_scene`, and plain Blender's own frames of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

SMALL: dict[str, Any] = {"width": 48, "height": 27, "samples": 1, "objects": 1, "camera": False}

_STILL = """
scene.render.use_motion_blur = False
thing = bpy.data.objects["Suzanne"]
thing.animation_data_clear()
thing.location = (0, 0, 2.5)
bpy.ops.object.camera_add(location=(0, -9, 2), rotation=(1.35, 0, 0))
scene.camera = bpy.context.object
bpy.ops.mesh.primitive_plane_add(size=8)
floor = bpy.context.object
"""
KINDS = {
    "cloth": "thing.modifiers.new('Cloth', 'CLOTH'); floor.modifiers.new('Hit', 'COLLISION')",
    "soft-body": (
        "thing.modifiers.new('Soft', 'SOFT_BODY').settings.use_goal = False;"
        "floor.modifiers.new('Hit', 'COLLISION')"
    ),
    "particles": (
        "thing.modifiers.new('Dust', 'PARTICLE_SYSTEM'); dust = thing.particle_systems[0].settings;"
        "dust.count, dust.frame_end, dust.brownian_factor = 60, 8, 1.0;"
        "bpy.ops.mesh.primitive_cube_add(location=(0, 0, -90));"
        "dust.render_type, dust.instance_object, dust.particle_size = 'OBJECT', bpy.context.object, 0.2"
    ),
    "rigid-bodies": """
for body, kind in ((floor, "PASSIVE"), (thing, "ACTIVE")):
    with bpy.context.temp_override(object=body, active_object=body, selected_objects=[body]):
        bpy.ops.rigidbody.object_add(type=kind)
""",
    "simulation-nodes": """
tree = bpy.data.node_groups.new("Fall", "GeometryNodeTree")
for way in ("INPUT", "OUTPUT"):
    tree.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
nodes = {name: tree.nodes.new(name) for name in (
    "NodeGroupInput", "GeometryNodeSimulationInput", "GeometryNodeSetPosition",
    "GeometryNodeSimulationOutput", "NodeGroupOutput")}
nodes["GeometryNodeSimulationInput"].pair_with_output(nodes["GeometryNodeSimulationOutput"])
chain = list(nodes.values())
for one, other in zip(chain, chain[1:]):
    output = one.outputs.get("Geometry") or one.outputs[0]
    tree.links.new(output, other.inputs.get("Geometry") or other.inputs[0])
nodes["GeometryNodeSetPosition"].inputs["Offset"].default_value = (0.05, 0, -0.2)
zone = thing.modifiers.new("Fall", "NODES")
zone.node_group = tree
""",
}


def simulating(kind: str, more: str = "") -> str:
    """Code of a scene in which something of ``kind`` falls, and ``more`` after it."""
    return f"{_STILL}\n{KINDS[kind]}\n{more}"


_PLAIN = """
import bpy, sys
blend, out, first, last, frame = sys.argv[1:]
bpy.ops.wm.open_mainfile(filepath=blend, load_ui=False, use_scripts=False)
scene = bpy.context.scene
for number in range(int(first), int(last) + 1):
    scene.frame_set(number)
settings = scene.render.image_settings
settings.media_type, settings.file_format = "MULTI_LAYER_IMAGE", "OPEN_EXR_MULTILAYER"
settings.color_depth = "32"
scene.render.filepath = out + "/plain_####"
bpy.ops.render.render(animation=True, frame_start=int(frame), frame_end=int(frame))
"""


def plain(blend: Path, out: Path, played: tuple[int, int], frame: int) -> Path:
    """All passes of a frame from a Blender of its own, once it has played the frames ``played``."""
    out.mkdir()
    command = [sys.executable, "-c", _PLAIN, str(blend), str(out), *map(str, played), str(frame)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return out / f"plain_{frame:04d}.exr"
