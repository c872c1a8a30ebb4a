"""Runs in a Blender of its own, in the background: saves .blends anew so that their paths fit the farm's.

The artist's file, session and undo history are never near: this opens the copy that the add-on saved,
and libraries, and writes elsewhere. Argument: a JSON file ``{root, outside, answer, files: [[blend, place,
out], …]}``, where ``place`` is that of the .blend among what travels. Answer: ``{"written": [index, …]}``;
a file that fits as it is is not written.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy

_HERE = str(Path(__file__).resolve().parent)
sys.path.insert(0, _HERE)  # a script, not a part of the add-on: Blender runs it bare
from places import Layout, resolved  # type: ignore[import-not-found]  # noqa: E402

sys.path.remove(_HERE)

Change = Callable[[str], "str | None"]


def main(path: str) -> None:
    """Carry out the order at ``path``."""
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    layout = Layout(order["root"], order["outside"])
    written = []
    for index, (blend, place, out) in enumerate(order["files"]):
        bpy.ops.wm.open_mainfile(filepath=blend, load_ui=False, use_scripts=False)
        if rewrite(layout, os.path.dirname(blend), os.path.dirname(place)):
            bpy.ops.wm.save_as_mainfile(filepath=out, copy=True, relative_remap=False, check_existing=False)
            written.append(index)
    Path(order["answer"]).write_text(json.dumps({"written": written}), encoding="utf-8")


def rewrite(layout: Layout, base: str, folder: str) -> int:
    """Make every path of the open file, which lies in ``base``, right for ``folder``; how many changed."""
    changed = 0

    def change(raw: str) -> str | None:
        nonlocal changed
        if not raw.strip("/\\."):
            return None
        fitting: str = layout.reference(resolved(raw, base), folder)
        if fitting == raw.replace("\\", "/"):
            return None
        changed += 1
        return fitting

    if hasattr(bpy.data, "file_path_foreach"):  # since Blender 5.0
        skipped = {"SKIP_PACKED", "SKIP_WEAK_REFERENCES", "SKIP_LINKED"}
        bpy.data.file_path_foreach(
            lambda block, raw, _: None if isinstance(block, bpy.types.Text) else change(raw), flags=skipped
        )
        named = _bakes()
    else:
        named = _named()
    for thing, name in named:
        fitting = change(getattr(thing, name))
        if fitting is not None:
            setattr(thing, name, fitting)
    return changed


def _bakes() -> Iterator[tuple[Any, str]]:
    """Modifiers of the open file that bake into a folder: no Blender visits these."""
    for item in bpy.data.objects:
        for modifier in () if item.library else item.modifiers:
            if modifier.type == "NODES":
                yield modifier, "bake_directory"


def _named() -> Iterator[tuple[Any, str]]:
    """Things of the open file that name a path, and the property (Blender 4.5)."""
    yield from _bakes()
    data = bpy.data
    for kind in ("images", "libraries", "sounds", "fonts", "movieclips", "volumes", "cache_files"):
        for block in getattr(data, kind):
            packed = getattr(block, "packed_file", None)
            if block.library is None and not packed and block.filepath not in ("", "<builtin>"):
                yield block, "filepath"
    for scene in data.scenes:
        strips = scene.sequence_editor.strips_all if scene.sequence_editor and not scene.library else ()
        for strip in strips:
            if strip.type in ("IMAGE", "MOVIE"):
                yield strip, "directory" if strip.type == "IMAGE" else "filepath"
    for item in data.objects:
        for modifier in () if item.library else item.modifiers:
            if modifier.type in ("MESH_CACHE", "OCEAN"):
                yield modifier, "filepath"
            elif modifier.type == "FLUID" and modifier.domain_settings:
                yield modifier.domain_settings, "cache_directory"
            elif modifier.type == "NODES":
                yield from ((bake, "directory") for bake in modifier.bakes)
    trees = [owner.node_tree for kind in ("materials", "worlds", "lights") for owner in getattr(data, kind)]
    for tree in [tree for tree in (*trees, *data.node_groups) if tree and not tree.library]:
        for node in tree.nodes:
            if node.bl_idname in ("ShaderNodeTexIES", "ShaderNodeScript") and node.mode == "EXTERNAL":
                yield node, "filepath"


if __name__ == "__main__":
    main(sys.argv[-1])
