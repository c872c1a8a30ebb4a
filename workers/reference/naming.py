"""Sends a file's outputs into one folder, under the names that a job delivers.

The rule: of the frames' path only the last part stays. A folder that a File Output node writes to and
that lies below the frames' folder keeps its place there; any other keeps its own last part. Two folders
that would get one name get ``_2`` and so on, those of nodes that write first. Drives, parents and the
folder of the .blend are dropped from paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy

_BLEND_FOLDER = re.compile(r"\{blend_dir(?:_lib)?(?::[^}]*)?\}")
_START = re.compile(r"[A-Za-z]:|//|[/\\]|")
_NOWHERE = re.compile(r"|\.|\.\.|[A-Za-z]:")


@dataclass(frozen=True)
class Place:
    """A folder as a path names it: where that begins (``//``, ``/``, ``E:``), how often it climbs."""

    start: str
    climbs: int
    folders: tuple[str, ...]

    @classmethod
    def of(cls, path: str) -> Place:
        """The folder that the file at ``path`` lies in."""
        begin = _START.match(path)
        climbs = re.split(r"[/\\]", path)[:-1].count("..")
        return cls(begin[0].upper() if begin else "", climbs, _split(path)[0])

    def below(self, other: Place) -> tuple[str, ...] | None:
        """The way to here from ``other``, down; None where there is none that the paths tell."""
        depth = len(other.folders)
        known = self.start == other.start and not self.climbs and not other.climbs
        return self.folders[depth:] if known and self.folders[:depth] == other.folders else None


def send_to(folder: str, scene: Any) -> None:
    """Let everything that rendering ``scene`` writes land under ``folder``, which is made."""
    root = Path(folder).resolve()
    root.mkdir(parents=True, exist_ok=True)
    frames = Place.of(scene.render.filepath)
    names = {frames: ""}
    for other in bpy.data.scenes:
        other.render.use_render_cache = False
        other.render.filepath = f"{root}/{_split(other.render.filepath)[1]}"
    every = (node for group in bpy.data.node_groups for node in group.nodes)
    seen = []
    for node in (*writers(scene), *every):
        if node.bl_idname == "CompositorNodeOutputFile" and node not in seen:
            seen.append(node)
            _send_node(node, root, names, frames)


def writers(scene: Any) -> list[Any]:
    """The File Output nodes that write when ``scene`` is rendered, those of nested groups too."""
    tree = scene.compositing_node_group if scene.render.use_compositing else None
    return [node for node in _walked(tree, []) if node.bl_idname == "CompositorNodeOutputFile"]


def _walked(tree: Any, seen: list[Any]) -> Iterator[Any]:
    if tree is None or tree in seen:
        return
    seen.append(tree)
    for node in tree.nodes:
        if not node.mute:
            yield node
            if node.bl_idname == "CompositorNodeGroup":
                yield from _walked(node.node_tree, seen)


def _send_node(node: Any, root: Path, names: dict[Place, str], frames: Place) -> None:
    place = Place.of(node.directory.rstrip("/\\") + "/")
    if place not in names:
        names[place] = _free(place, names, frames)
    node.directory = f"{root}/{names[place]}/" if names[place] else f"{root}/"
    node.file_name = _inside(node.file_name)
    for item in node.file_output_items:
        item.name = _inside(item.name)


def _free(place: Place, names: dict[Place, str], frames: Place) -> str:
    way = place.below(frames)
    name = "/".join(place.folders[-1:] if way is None else way) or "file_output"
    number = 1
    while (name if number == 1 else f"{name}_{number}") in names.values():
        number += 1
    return name if number == 1 else f"{name}_{number}"


def _inside(name: str) -> str:
    folders, last = _split(name)
    return "/".join((*folders, last))


def _split(path: str) -> tuple[tuple[str, ...], str]:
    """The folders of ``path`` that count, and its last part."""
    *folders, name = re.split(r"[/\\]", _BLEND_FOLDER.sub("", path))
    kept = tuple(folder for folder in folders if not _NOWHERE.fullmatch(folder))
    return kept, "" if _NOWHERE.fullmatch(name) else name
