"""The Blender process of the comparison of merges: render a frame whole and in two ranges of its samples.

``sample_ranges.py FILE FOLDER SAMPLES FIRST``: writes whole.exr, one.exr with the first FIRST of SAMPLES,
and two.exr with the others.
"""

from __future__ import annotations

import sys

import bpy


def main(path: str, folder: str, samples: int, first: int) -> None:
    """Render the file's first frame at half its size."""
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
    scene = bpy.context.scene
    scene.render.resolution_percentage = 50
    scene.render.use_compositing = False
    scene.cycles.samples = samples
    for name, offset, count in (("whole", 0, samples), ("one", 0, first), ("two", first, samples - first)):
        scene.cycles.use_sample_subset = True
        scene.cycles.sample_offset, scene.cycles.sample_subset_length = offset, count
        scene.render.filepath = f"{folder}/{name}.exr"
        bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
