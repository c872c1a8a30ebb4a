"""The Blender process that builds one scene: ``python -m scenes.builder NAME OUT.blend``."""

from __future__ import annotations

import importlib
import sys

import bpy


def main(name: str, path: str) -> int:
    """Build scene ``name`` in an empty Blender and save it to ``path``."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.save_version = 0  # no .blend1 beside it
    importlib.import_module(f"scenes.{name}").build()
    bpy.ops.wm.save_as_mainfile(filepath=path, compress=True, check_existing=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
