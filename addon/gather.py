"""What the open file needs, and a copy of it as it is now. Main thread; changes nothing in the session.

The copy is what Blender's own “Save Copy” writes: the artist's file on disk, the undo history and the
mark of unsaved changes stay as they are.
"""

from __future__ import annotations

import os
from pathlib import Path

import bpy

from .gathered import Gathered
from .packing import Finding, Use
from .places import Layout, resolved
from .trouble import Trouble


def gather(folder: Path) -> Gathered:
    """Look through the open file and save a copy into ``folder``; raises `Trouble`."""
    own = bpy.data.filepath
    base = os.path.dirname(own)
    name = os.path.basename(own) or "untitled.blend"
    uses = tuple(_uses(base, name))
    layout = Layout.around(base, [use.path for use in uses])
    place = layout.place(own) if own else name
    wrong = _wrong(uses, layout, base, place)
    copy = str(folder / name)
    _save_copy(copy, remap="" in wrong)
    return Gathered(
        copy=copy,
        place=place,
        uses=uses,
        layout=layout,
        rewrite=tuple(owner or copy for owner in wrong),
        findings=tuple(_unsaved_images()),
        blender=bpy.app.binary_path,
    )


def _wrong(uses: tuple[Use, ...], layout: Layout, base: str, place: str) -> dict[str, None]:
    """.blends whose paths would not lead to their files on the farm; "" is the artist's own."""
    wrong: dict[str, None] = {}
    for use in uses:
        here, there = (
            (os.path.dirname(use.owner), os.path.dirname(layout.place(use.owner)))
            if use.owner
            else (base, os.path.dirname(place))
        )
        if not layout.fits(use.raw, here, there):
            wrong[use.owner] = None
    return wrong


def _save_copy(path: str, remap: bool) -> None:
    try:
        # Paths stay as they are written where they fit; where Blender has to put them right, it must
        # first find the files from where the copy lies.
        done = bpy.ops.wm.save_as_mainfile(
            "EXEC_DEFAULT", filepath=path, copy=True, check_existing=False, relative_remap=remap
        )
    except RuntimeError as error:
        done, said = set(), str(error).strip().splitlines()[-1]
    else:
        said = "it was not saved"
    if "FINISHED" not in done:
        raise Trouble(f"Blender could not save a copy of the file: {said}", "Look at the disk's free space.")


def _uses(base: str, name: str) -> list[Use]:
    found = []
    for block, paths in bpy.data.file_path_map(include_libraries=False).items():
        if isinstance(block, (bpy.types.Text, bpy.types.Library)):
            continue  # a text's content is in the file
        library = block.library
        owner = resolved(library.filepath, base) if library else ""
        for raw in sorted(paths):
            if not raw.strip("/\\.") or (raw.startswith("//") and not (owner or base)):
                continue
            found.append(
                Use(
                    user=_shown(block),
                    raw=raw,
                    path=resolved(raw, os.path.dirname(owner) if owner else base),
                    owner=owner,
                    sequence=_is_sequence(block),
                    optional=_is_cache(block, raw),
                )
            )
    found += _libraries(base)
    found += _bakes(base)
    if base:
        cache = f"blendcache_{Path(name).stem}"  # where Blender itself looks, by the file's name
        found.append(Use("a simulation", f"//{cache}", os.path.join(base, cache), optional=True))
    return found


def _libraries(base: str) -> list[Use]:
    found = []
    for library in bpy.data.libraries:
        if library.packed_file or getattr(library, "is_archive", False):
            continue
        path = resolved(library.filepath, base)
        if library.parent is None:
            found.append(Use(_shown(library), library.filepath, path))
        else:  # how its parent writes it is not known here, so Blender has to look into the parent
            found.append(Use(_shown(library), path, path, owner=resolved(library.parent.filepath, base)))
    return found


def _bakes(base: str) -> list[Use]:
    """Folders that modifiers bake into: Blender's own list leaves these out."""
    found = []
    for item in bpy.data.objects:
        owner = resolved(item.library.filepath, base) if item.library else ""
        folder = os.path.dirname(owner) if owner else base
        for modifier in item.modifiers:
            raw = modifier.bake_directory if modifier.type == "NODES" else ""
            if raw.strip("/\\.") and (folder or not raw.startswith("//")):
                found.append(Use(_shown(item), raw, resolved(raw, folder), owner, optional=True))
    return found


def _is_sequence(block: bpy.types.ID) -> bool:
    return getattr(block, "source", "") == "SEQUENCE" or bool(getattr(block, "is_sequence", False))


def _is_cache(block: bpy.types.ID, raw: str) -> bool:
    """Caches are named before they are made; a mesh cache is a file of the artist's."""
    return isinstance(block, bpy.types.Object) and not os.path.splitext(raw)[1]


def _shown(block: bpy.types.ID) -> str:
    return f"{block.bl_rna.name} “{block.name}”"


def _unsaved_images() -> list[Finding]:
    return [
        Finding(
            "warning",
            f"Image “{image.name}” was painted on and not saved: the farm gets it without that.",
            "Save the image (Image › Save), then submit again.",
        )
        for image in bpy.data.images
        if image.is_dirty and image.type not in ("RENDER_RESULT", "COMPOSITING")
    ]
