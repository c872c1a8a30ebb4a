"""Render a .blend at a tenth of its size with one sample: ``picture.py FILE.blend OUT_DIR FRAME…``."""

from __future__ import annotations

import sys

import bpy


def main(path: str, folder: str, frames: list[int]) -> None:
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
    scene = bpy.context.scene
    scene.render.resolution_percentage = 10
    scene.cycles.samples = 1
    scene.render.filepath = f"{folder}/frame_####"
    if scene.compositing_node_group:
        for node in scene.compositing_node_group.nodes:
            if node.bl_idname == "CompositorNodeOutputFile":
                node.directory = folder
    for frame in frames:
        scene.frame_start = scene.frame_end = frame
        bpy.ops.render.render(animation=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [int(frame) for frame in sys.argv[3:]])
