"""What Blender itself says that files need: called with the answer's JSON file and the .blend files.

The answer has, by .blend, the files on disk that it names, or null for one that does not open.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

import bpy


def needed(blend: str) -> list[str] | None:
    try:
        bpy.ops.wm.open_mainfile(filepath=blend, load_ui=False, use_scripts=False)
    except RuntimeError:
        return None
    own, found = bpy.utils.system_resource("DATAFILES"), set()
    for block, names in bpy.data.file_path_map(include_libraries=True).items():
        with contextlib.suppress(ReferenceError):
            paths = [os.path.normpath(bpy.path.abspath(name, library=block.library)) for name in names]
            found.update(path for path in paths if Path(path).is_file() and not path.startswith(own))
    return sorted(found - {blend})


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps({blend: needed(blend) for blend in sys.argv[2:]}))
