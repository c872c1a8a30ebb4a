"""An artist in Blender: opens a file, changes it, submits it by the add-on. Run by `test_addon` in a process.

Argument: JSON with farm, blend ("" for a file that was never saved), frames, samples, results, width,
height, answer; and `texture`: where a picture lies that is all the scene shows, `cancel`: after how many
frames to cancel.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import bpy

MODULE = "bl_ext.user_default.tessera"


def undo_steps() -> list[str]:
    """The undo history as Blender prints it, without addresses."""
    read, write = os.pipe()
    kept = os.dup(1)
    sys.stdout.flush()
    os.dup2(write, 1)
    try:
        bpy.context.window_manager.print_undo_steps()
    finally:
        os.dup2(kept, 1)
        os.close(write)
        os.close(kept)
    with os.fdopen(read) as printed:
        return [line.split("type=")[-1].strip() for line in printed if "type=" in line]


def surround(path: str) -> None:
    """A world that is the picture at ``path``, named by its full path, and nothing else to be seen."""
    for item in list(bpy.data.objects):
        if item.type != "CAMERA":
            bpy.data.objects.remove(item)
    scene = bpy.context.scene
    scene.render.engine, scene.view_settings.view_transform = "CYCLES", "Standard"
    scene.cycles.use_denoising = False
    scene.render.image_settings.file_format = "PNG"
    nodes = scene.world.node_tree.nodes
    surroundings = nodes.new("ShaderNodeTexEnvironment")
    surroundings.image = bpy.data.images.load(path)
    scene.world.node_tree.links.new(surroundings.outputs[0], nodes["Background"].inputs["Color"])
    nodes["Background"].inputs["Strength"].default_value = 1.0


def main(order: dict) -> None:
    bpy.ops.preferences.addon_enable(module=MODULE)
    session = import_module(f"{MODULE}.session")
    bpy.context.preferences.addons[MODULE].preferences.farm = order["farm"]
    if order["blend"]:
        bpy.ops.wm.open_mainfile(filepath=order["blend"])
    if "texture" in order:
        surround(order["texture"])
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = order["width"], order["height"]
    scene.render.resolution_percentage = 100
    asked = scene.tessera
    asked.frames, asked.own_frames = "OWN", order["frames"]
    asked.use_samples, asked.samples = True, order["samples"]
    asked.results = order["results"]
    bpy.ops.ed.undo_push(message="a smaller picture")

    def paths() -> list:
        return sorted([block.name, sorted(used)] for block, used in bpy.data.file_path_map().items() if used)

    before = (bpy.data.is_dirty, undo_steps(), paths())
    with redirect_stdout(io.StringIO()):
        done = bpy.ops.tessera.submit()
    assert done == {"FINISHED"}
    after = (bpy.data.is_dirty, undo_steps(), paths())
    assert before[1], "no undo history to compare"
    work = session.works[0]
    deadline = time.monotonic() + 200
    while work.shown.working and time.monotonic() < deadline:
        if "cancel" in order and not work.shown.cancelling and len(work.shown.pictures) >= order["cancel"]:
            bpy.ops.tessera.cancel(index=0)
        time.sleep(0.1)
    shown = work.shown
    told = {
        "phase": shown.phase.value,
        "what": shown.what,
        "cure": shown.cure,
        "job": shown.job_id,
        "pictures": shown.pictures,
        "findings": [[one.weight, one.what, one.cure] for one in shown.findings],
        "plan": shown.plan,
        "dirty": [before[0], after[0]],
        "undo": [before[1], after[1]],
        "paths": [before[2], after[2]],
        "filepath": bpy.data.filepath,
        "scratch": [path.name for path in Path(bpy.app.tempdir).glob("tessera-*")],
    }
    if shown.pictures:
        bpy.ops.tessera.open_result(index=0)
        told["opened"] = [image.filepath for image in bpy.data.images if image.filepath == shown.pictures[-1]]
    bpy.ops.tessera.forget(index=0)
    told["listed"] = len(session.works)
    Path(order["answer"]).write_text(json.dumps(told))
    bpy.ops.preferences.addon_disable(module=MODULE)


main(json.loads(sys.argv[1]))
