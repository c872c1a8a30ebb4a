"""From a .blend on disk to the manifest that the farm takes."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from farm.assets import blend as blend_file
from farm.assets import findings
from farm.assets.hashing import StillChanging, steady_blob
from farm.assets.links import Slot
from farm.assets.places import Places, is_private, is_too_long
from farm.assets.rewrite import fits, rewrite
from farm.assets.trace import Needs, needs_of, stamp
from farm.assets.written import lead_in_layout, relative
from farm.domain.errors import BadInput
from farm.domain.scene import Blob, Finding, SceneManifest

_HASHERS = 4  # threads; hashing lets go of the interpreter lock


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Packed:
    """A scene ready to send: each file of the manifest lies at ``root / name``, or where ``elsewhere`` says.

    What had to be written anew lies in a folder that is removed with this value.
    """

    manifest: SceneManifest
    root: Path
    version: str  # of the Blender that saved it
    warnings: tuple[Finding, ...] = ()
    elsewhere: Mapping[str, Path] = field(default_factory=dict)


def pack(blend: Path) -> Packed:
    """Check ``blend``, find what it needs, give each file its place, and hash it all.

    The root is the deepest folder that holds the scene and what it names by relative paths, so that
    their places relative to each other stay as they are. Files outside of it get a place below it; a
    .blend whose paths would not lead there is sent as a copy with other paths (docs/decisions/0008).
    What cannot come along becomes a warning. No file is changed. Raises `BadInput` where ``blend``
    itself cannot be used.
    """
    header = blend_file.check(blend)
    main = Path(os.path.abspath(blend))  # noqa: PTH100  Path.absolute() would leave “..” in
    needs = needs_of(main)
    near = [file for file in needs.near(main) if _near(main, file)]
    root = Path(os.path.commonpath([main.parent, *(file.parent for file in near)]))
    packing = _Packing(main, needs, Places(root))
    try:
        packed = packing.packed(header.version)
    except BaseException:
        packing.clear()
        raise
    if packing.scratch is not None:
        weakref.finalize(packed, shutil.rmtree, packing.scratch, ignore_errors=True)
    return packed


class _Packing:
    """The state of one `pack`."""

    def __init__(self, main: Path, needs: Needs, places: Places) -> None:
        self.main, self.needs, self.places = main, needs, places
        self.found = list(findings.of_needs(needs))
        self.scratch: Path | None = None

    def clear(self) -> None:
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def packed(self, version: str) -> Packed:
        own = self.places.of(self.main)
        if own != self.main.relative_to(self.places.root).as_posix() or is_too_long(own):
            shown = findings.shown(self.main.relative_to(self.places.root))
            raise BadInput(
                f"The name “{shown}” cannot travel to other machines.",
                "Rename it: shorter, without backslashes, and in UTF-8.",
            )
        names = {self.main: own, **self._named()}
        sources = {**{file: file for file in names}, **self._copies(names)}
        files, elsewhere = self._hashed(names, sources)
        outside = [file for file, name in names.items() if name in files and self.places.is_outside(file)]
        self.found += findings.of_names(names, outside)
        manifest = SceneManifest(main=own, files=dict(sorted(files.items())))
        return Packed(manifest, self.places.root, version, findings.ordered(self.found), elsewhere)

    def _named(self) -> dict[Path, str]:
        """Place by file, of those that may come along."""
        names: dict[Path, str] = {}
        taken = {self.places.of(self.main)}
        for file in self.needs.files:
            name = self.places.of(file)
            if self.places.is_outside(file) and is_private(file):
                self.found.append(findings.private(file, self.needs))
            elif is_too_long(name):
                self.found.append(findings.too_long(file, self.needs))
            elif name in taken:
                self.found.append(findings.taken(file, name, self.needs))
            else:
                taken.add(name)
                names[file] = name
        return names

    def _copies(self, names: Mapping[Path, str]) -> dict[Path, Path]:
        """Copies of those .blend files whose paths lead elsewhere in the manifest than here."""
        copies: dict[Path, Path] = {}
        for blend, paths in self._changes(names).items():
            if self.scratch is None:
                self.scratch = Path(tempfile.mkdtemp(prefix="tessera-pack-"))
            copy = self.scratch / f"{len(copies)}.blend"
            try:
                rewrite(blend, copy, paths)
            except Exception as error:  # noqa: BLE001  strange files bring strange faults; none stops a submit
                self.found.append(findings.unwritten(blend, error))
            else:
                copies[blend] = copy
        return copies

    def _changes(self, names: Mapping[Path, str]) -> dict[Path, dict[Slot, bytes]]:
        """New paths by .blend and by slot, where what is written does not lead to the file's place."""
        changes: dict[Path, dict[Slot, bytes]] = defaultdict(dict)
        for pointer in self.needs.pointers:
            if pointer.blend not in names:
                continue
            base = self.places.of(pointer.library or pointer.blend)
            folder = str(PurePosixPath(base).parent)
            place = self.places.of(pointer.target)
            if lead_in_layout(pointer.written, folder) == place:
                continue
            path = relative(place, folder, is_folder=pointer.is_folder)
            if fits(pointer.slot, path):
                changes[pointer.blend][pointer.slot] = path
            else:
                self.found.append(findings.no_room(pointer.target, pointer.blend))
        return changes

    def _hashed(
        self, names: Mapping[Path, str], sources: Mapping[Path, Path]
    ) -> tuple[dict[str, Blob], dict[str, Path]]:
        files: dict[str, Blob] = {}
        elsewhere: dict[str, Path] = {}
        with ThreadPoolExecutor(_HASHERS) as pool:
            for file, result in zip(names, pool.map(self._hash, names, sources.values()), strict=True):
                if isinstance(result, Finding):
                    self.found.append(result)
                    continue
                name = names[file]
                files[name] = result
                if sources[file] != self.places.root / name:
                    elsewhere[name] = sources[file]
                if result.bytes == 0:
                    self.found.append(findings.empty(file, self.needs))
        return files, elsewhere

    def _hash(self, file: Path, source: Path) -> Blob | Finding:
        """What ``source`` holds, ``file`` or its copy; raises `BadInput` where it is the scene itself."""
        try:
            blob = steady_blob(source)
            if file in self.needs.blends and stamp(file) != self.needs.blends[file]:
                raise StillChanging
        except StillChanging:
            trouble = findings.changing(file, self.needs)
        except OSError as error:
            trouble = findings.unreadable(file, error, self.needs)
        else:
            return blob
        if file == self.main:
            raise BadInput(trouble.what, trouble.cure)
        return trouble


def _near(main: Path, file: Path) -> bool:
    """False where only the root of the file system (or nothing) holds both: no project looks so."""
    if file.anchor != main.anchor:
        return False
    common = Path(os.path.commonpath([main.parent, file.parent]))
    return common != Path(main.anchor) or main.parent == common
