"""Sends a file's outputs into one folder, under the names that a job delivers.

The rule: of the output path the last part stays. A File Output node's folder keeps its own name, and is
the frames' own where it lies in their folder; a second folder of the same name gets ``_2``. What a path
says of drives, parents and the .blend's folder is dropped.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import bpy

_BLEND_FOLDER = re.compile(r"\{blend_dir(?:_lib)?(?::[^}]*)?\}")
_NOWHERE = re.compile(r"|\.|\.\.|[A-Za-z]:")


def send_to(folder: str, scene: Any) -> None:
    """Let everything that rendering ``scene`` writes land under ``folder``, which is made."""
    root = Path(folder).resolve()
    root.mkdir(parents=True, exist_ok=True)
    names = {_split(scene.render.filepath)[0]: ""}
    for other in bpy.data.scenes:
        other.render.use_render_cache = False
        other.render.filepath = f"{root}/{_split(other.render.filepath)[1]}"
    for group in bpy.data.node_groups:
        for node in group.nodes:
            if node.bl_idname == "CompositorNodeOutputFile":
                _send_node(node, root, names)


def _send_node(node: Any, root: Path, names: dict[tuple[str, ...], str]) -> None:
    source, _ = _split(node.directory.rstrip("/\\") + "/")
    if source not in names:
        name, number = source[-1] if source else "file_output", 1
        while (name if number == 1 else f"{name}_{number}") in names.values():
            number += 1
        names[source] = name if number == 1 else f"{name}_{number}"
    node.directory = f"{root}/{names[source]}/" if names[source] else f"{root}/"
    node.file_name = "/".join(_joined(node.file_name))
    for item in node.file_output_items:
        item.name = "/".join(_joined(item.name))


def _joined(path: str) -> tuple[str, ...]:
    folders, name = _split(path)
    return (*folders, name)


def _split(path: str) -> tuple[tuple[str, ...], str]:
    """The folders of ``path`` that count, and its last part."""
    *folders, name = _BLEND_FOLDER.sub("", path).replace("\\", "/").split("/")
    kept = tuple(folder for folder in folders if not _NOWHERE.fullmatch(folder))
    return kept, "" if _NOWHERE.fullmatch(name) else name
