"""Maps every path that a file would write to into one folder, whatever the file says.

A file may point outside (``//../../renders``, ``E:\\out``, ``/tmp``): only the last component of such a
path is kept. Folders that differ in the file stay different, and a File Output node that writes beside
the frames, or into a folder there, still does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy

from workers.child import Refusal
from workers.inside_blender import compat, content
from workers.inside_blender.causes import BAD_RESULT
from workers.inside_blender.changes import Changes

# Blender's path templates that stand for whole folders: they have no place inside a folder.
_FOLDER_VARIABLES = re.compile(r"\{blend_dir(_lib)?(:[^}]*)?\}")


def parts(path: str) -> list[str]:
    """Components of ``path`` as Windows or POSIX would split it, without those that leave a folder.

    A last component that is empty stays: ``renders/`` gives ``["renders", ""]``.
    """
    split = re.split(r"[/\\]", _FOLDER_VARIABLES.sub("", path))
    inner = [part for part in split[:-1] if part not in ("", ".", "..") and not _is_drive(part)]
    last = split[-1]
    return [*inner, "" if last in (".", "..") or _is_drive(last) else last]


def _is_drive(part: str) -> bool:
    return re.fullmatch(r"[A-Za-z]:", part) is not None


def output_name(path: str) -> str:
    """The file's own base name: ``E:\\shots\\shot_####`` gives ``shot_####``, ``/tmp/`` gives ````."""
    return parts(path)[-1]


def map_outputs(changes: Changes, scene: Any, out_dir: str) -> None:
    """Send everything that rendering ``scene`` writes under ``out_dir`` until ``changes`` ends.

    What lies beside the frames or below them keeps its place, so that files are named as by Blender.
    """
    root = os.path.realpath(out_dir)
    Path(root).mkdir(parents=True, exist_ok=True)
    _refuse_links(root)
    folders = _Folders(scene.render.filepath)
    for other in bpy.data.scenes:
        changes.set_if_there(other.render, "use_render_cache", False)
        changes.set(other.render, "filepath", f"{root}/{output_name(other.render.filepath)}")
    mapped = set()
    for node in (*content.file_outputs(scene), *_all_file_outputs()):  # those that write choose first
        if node.as_pointer() not in mapped:
            mapped.add(node.as_pointer())
            _map_node(changes, node, root, folders)


def _all_file_outputs() -> Iterator[Any]:
    for tree in compat.compositor_trees():
        yield from (node for node in tree.nodes if node.bl_idname == "CompositorNodeOutputFile")


class _Folders:
    """Where each folder that the file names lies inside the one folder that there is."""

    def __init__(self, frames: str) -> None:
        """``frames`` is the output path of the frames: their folder is the one folder."""
        self._beside = _place(frames)
        self._chosen: dict[tuple[str, tuple[str, ...]], str] = {self._beside: ""}

    def of(self, path: str) -> str:
        """The folder of the file at ``path``, relative and POSIX; empty for the frames' own."""
        place = _place(path)
        if place not in self._chosen:
            root, depth = self._beside[0], len(self._beside[1])
            inside = place[0] == root and place[1][:depth] == self._beside[1] and ".." not in root
            self._chosen[place] = self._free("/".join(place[1][depth:] if inside else place[1][-1:]))
        return self._chosen[place]

    def _free(self, name: str) -> str:
        """``name``, numbered where another folder of the file got it."""
        name, taken = name or "file_output", set(self._chosen.values())
        return next(free for free in (name, *(f"{name}_{n}" for n in range(2, 10_000))) if free not in taken)


def _place(path: str) -> tuple[str, tuple[str, ...]]:
    """Identity of the folder of ``path``: where it starts (``//``, ``/``, ``E:``, climbs), and its parts."""
    start = re.match(r"[A-Za-z]:|//|[/\\]|", path)
    climbs = [part for part in re.split(r"[/\\]", path)[:-1] if part == ".."]
    return "".join([start[0].upper() if start else "", *climbs]), tuple(parts(path)[:-1])


def _refuse_links(root: str) -> None:
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            if Path(folder, name).is_symlink():
                raise Refusal(BAD_RESULT, f"The output folder holds a link, “{name}”, that leads elsewhere.")


def _map_node(changes: Changes, node: Any, root: str, folders: _Folders) -> None:
    directory = compat.file_output_directory(node)
    multilayer_name = not hasattr(node, "directory") and node.format.file_format == compat.MULTILAYER
    inner = folders.of(directory if multilayer_name else directory.rstrip("/\\") + "/")
    folder = f"{root}/{inner}/" if inner else f"{root}/"
    changes.undo(_restore_directory, node, directory)
    compat.set_file_output_directory(node, folder)
    for owner, name in compat.file_output_names(node):
        changes.set(owner, name, "/".join(parts(getattr(owner, name))))


def _restore_directory(node: Any, directory: str) -> None:
    if hasattr(node, "directory"):
        node.directory = directory
    else:
        node.base_path = directory


def written(out_dir: str, before: dict[str, int]) -> list[str]:
    """Files under ``out_dir`` that are new or changed since ``before`` (a `snapshot`), POSIX, sorted."""
    return sorted(name for name, stamp in snapshot(out_dir).items() if before.get(name) != stamp)


def snapshot(out_dir: str) -> dict[str, int]:
    """Modification times (ns) of the regular files under ``out_dir``; links are not followed."""
    root = Path(out_dir)
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                found[path.relative_to(root).as_posix()] = path.stat().st_mtime_ns
    return found
