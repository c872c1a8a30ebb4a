"""From a .blend on disk to the manifest that the farm takes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from farm.assets import blend as blend_file
from farm.assets.hashing import blob_of
from farm.assets.trace import Needs, needs_of
from farm.domain.errors import BadInput
from farm.domain.scene import Blob, Finding, SceneManifest, Weight

_HASHERS = 4  # threads; hashing lets go of the interpreter lock


@dataclass(frozen=True, slots=True)
class Packed:
    """A scene ready to send: each file of the manifest lies at ``root / name``."""

    manifest: SceneManifest
    root: Path
    version: str  # of the Blender that saved it
    warnings: tuple[Finding, ...] = ()


def pack(blend: Path) -> Packed:
    """Check ``blend``, find what it needs by relative paths, and hash it all.

    The root is the deepest folder that holds the scene and its relative dependencies, so that their
    places relative to each other stay as they are. What cannot come along becomes a warning.
    Raises `BadInput` where ``blend`` itself cannot be used.
    """
    header = blend_file.check(blend)
    main = Path(os.path.abspath(blend))  # noqa: PTH100  Path.absolute() would leave “..” in
    needs = needs_of(main)
    warnings = _warnings(needs)
    near = []
    for file in needs.files:
        if not _near(main, file):
            warnings.append(_left_out(file, "shares no folder with the scene"))
        elif not _speakable(str(file)):
            warnings.append(_left_out(file, "has a name that is not portable"))
        else:
            near.append(file)
    root = Path(os.path.commonpath([main.parent, *(file.parent for file in near)]))
    files: dict[str, Blob] = {}
    with ThreadPoolExecutor(_HASHERS) as pool:
        for file, found in zip(near, pool.map(_blob_or_none, near), strict=True):
            if found is None:
                warnings.append(_left_out(file, "cannot be read"))
            else:
                files[file.relative_to(root).as_posix()] = found
    own = main.relative_to(root).as_posix()
    if not _speakable(str(main)):
        raise BadInput(
            f"The name “{_shown(own)}” cannot travel to other machines.",
            "Rename it without backslashes and in UTF-8.",
        )
    own_blob = _blob_or_none(main)
    if own_blob is None:
        raise BadInput(f"“{blend}” cannot be read.", "Check its permissions.")
    manifest = SceneManifest(main=own, files=dict(sorted({**files, own: own_blob}.items())))
    return Packed(manifest, root, header.version, tuple(warnings))


def _warnings(needs: Needs) -> list[Finding]:
    found = [
        Finding(
            code="missing-file",
            weight=Weight.WARNING,
            what=f"The scene points at “{_shown(path)}”, which is not there.",
            cure="Put the file back, or remove it from the scene.",
        )
        for path in needs.missing
    ]
    found += [
        Finding(
            code="absolute-path",
            weight=Weight.WARNING,
            what=f"The scene names “{name}” by its full path, so it is not sent along.",
            cure="In Blender: File › External Data › Make All Paths Relative, then save.",
        )
        for name in needs.absolute
    ]
    if needs.faults:
        found.append(
            Finding(
                code="not-traced",
                weight=Weight.WARNING,
                what=f"Not all of the scene's links could be read ({'; '.join(needs.faults)}).",
                cure="If pictures miss textures, pack them into the .blend.",
            )
        )
    return found


def _left_out(path: Path, why: str) -> Finding:
    return Finding(
        code="left-out",
        weight=Weight.WARNING,
        what=f"“{_shown(path)}” {why}, so it is not sent along.",
        cure="Copy it next to the scene and point the scene at the copy.",
    )


def _shown(path: Path | str) -> str:
    """The path as text that any terminal and JSON can carry."""
    return str(path).encode(errors="replace").decode()


def _near(main: Path, file: Path) -> bool:
    """False where only the root of the file system (or nothing) holds both: no project looks so."""
    if file.anchor != main.anchor:
        return False
    common = Path(os.path.commonpath([main.parent, file.parent]))
    return common != Path(main.anchor) or main.parent == common


def _speakable(name: str) -> bool:
    """Whether the path can stand in a manifest: UTF-8, and no backslash that Windows would split at."""
    return (os.sep == "\\" or "\\" not in name) and not any("\ud800" <= letter <= "\udfff" for letter in name)


def _blob_or_none(path: Path) -> Blob | None:
    try:
        return blob_of(path)
    except OSError:
        return None
