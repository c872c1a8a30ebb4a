"""Files that a scene needs and does not have. Blender renders on without a word, pink or black."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy

from workers.inside_blender import compat
from workers.inside_blender.findings import Finding, finding, names

_SEND = "Put the files where the scene looks for them, or pack them into it, and send it again."


def missing_files() -> list[Finding]:
    """Warnings, one a kind of thing, that name the datablocks whose files are not there."""
    found = []
    for code, noun, items in (
        ("missing-image", "Images", _images()),
        ("missing-volume", "Volumes", _with_path(bpy.data.volumes)),
        ("missing-font", "Fonts", _with_path(bpy.data.fonts)),
        ("missing-cache", "Caches", _with_path(bpy.data.cache_files)),
        ("missing-clip", "Movie clips", _with_path(bpy.data.movieclips)),
        ("missing-strip", "Strips", _strips()),
        ("missing-node-file", "Nodes", _nodes()),
        ("missing-library", "Libraries", _libraries()),
    ):
        lacking = [name for name, there in items if not there]
        if lacking:
            what = f"{noun} whose files are not there: {names(lacking)}."
            found.append(finding(code, "warning", what, _SEND))
    return found


def _exists(path: str, library: Any = None) -> bool:
    full = bpy.path.abspath(path, library=library).replace("\\", "/")
    if "<UDIM>" in full or "<UVTILE>" in full:
        pattern = glob.escape(full).replace("<UDIM>", "*").replace("<UVTILE>", "*")
        return bool(glob.glob(pattern))  # noqa: PTH207 - an absolute pattern
    return Path(full).exists()


def _images() -> Iterator[tuple[str, bool]]:
    for image in bpy.data.images:
        if image.users and image.source in ("FILE", "SEQUENCE", "MOVIE", "TILED") and image.filepath:
            packed = image.packed_file is not None or len(image.packed_files) > 0
            yield image.name, packed or _exists(image.filepath, image.library)


def _with_path(blocks: Any) -> Iterator[tuple[str, bool]]:
    for block in blocks:
        if block.users and block.filepath not in ("", "<builtin>"):
            packed = getattr(block, "packed_file", None) is not None
            yield block.name, packed or _exists(block.filepath, block.library)


def _strips() -> Iterator[tuple[str, bool]]:
    for scene in bpy.data.scenes:
        for strip in compat.strips(scene):
            if strip.type == "MOVIE":
                yield strip.name, _exists(strip.filepath)
            elif strip.type == "IMAGE":
                folder = strip.directory
                yield strip.name, all(_exists(folder + part.filename) for part in strip.elements)


def _nodes() -> Iterator[tuple[str, bool]]:
    """Datablocks whose own nodes name files: scripts (OSL), light profiles (IES), imported geometry."""
    trees = {"MATERIAL", "WORLD", "LIGHT", "NODETREE", "CAMERA"}
    for block, paths in bpy.data.file_path_map(key_types=trees, include_libraries=False).items():
        if block.users:
            yield block.name, all(_exists(path, block.library) for path in paths)


def _libraries() -> Iterator[tuple[str, bool]]:
    """Libraries with datablocks that could not be read; an absent file alone may be embedded data."""
    lacking: dict[str, bool] = {library.filepath: True for library in bpy.data.libraries}
    for library in bpy.data.libraries:
        blocks = list(library.users_id)
        if any(getattr(block, "is_missing", False) for block in blocks):
            lacking[library.filepath] = False
    yield from lacking.items()
