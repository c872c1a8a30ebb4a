"""The Blender process of the comparison: open a file once, render frames one after the other.

``blender_loop.py FILE OUT_DIR FIRST LAST keep|fresh``: ``keep`` turns persistent data on, ``fresh``
leaves it off, as it is by default. The last line of stdout is JSON: the seconds that opening took,
and those of each frame.
"""

from __future__ import annotations

import json
import sys
import time

import bpy


def main(path: str, folder: str, first: int, last: int, memory: str) -> None:
    """Render the frames of ``path`` into ``folder`` and tell how long each took."""
    started = time.perf_counter()
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
    opened = time.perf_counter() - started
    scene = bpy.context.scene
    scene.render.use_persistent_data = memory == "keep"
    scene.render.filepath = f"{folder}/frame_####"
    seconds = []
    for frame in range(first, last + 1):
        started = time.perf_counter()
        scene.frame_start = scene.frame_end = frame
        bpy.ops.render.render(animation=True)  # numbers the file, which write_still does not
        seconds.append(time.perf_counter() - started)
    sys.stdout.write(f"\n{json.dumps({'open': opened, 'frames': seconds})}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
