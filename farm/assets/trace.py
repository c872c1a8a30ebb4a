"""Which files a .blend needs, and the libraries that it links, and theirs."""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from farm.assets.datablocks import BlendReader, Datablock
from farm.assets.expand import MAX_FILES, files_of
from farm.assets.links import Link, Shape, Slot, links_of
from farm.assets.written import is_relative, lead

_OPEN_AT_ONCE = 32  # files; a project may have hundreds of libraries
_OSL, _OSO = ".osl", ".oso"


@dataclass(frozen=True, slots=True)
class Pointer:
    """A path in a .blend that leads to files which are there."""

    blend: Path
    written: bytes
    slot: Slot
    target: Path
    is_folder: bool = False
    library: Path | None = None  # the path is relative to the place of this one, not of the .blend


@dataclass(slots=True)
class Needs:
    """What a scene points at. Paths are absolute; `files` exist, are plain files, come without repeats."""

    files: dict[Path, None] = field(default_factory=dict)
    missing: dict[Path, None] = field(default_factory=dict)
    faults: dict[str, None] = field(default_factory=dict)  # where the tracer gave up, in words
    far: set[Path] = field(default_factory=set)  # of `files`: named by no relative path
    users: dict[Path, dict[str, None]] = field(default_factory=dict)  # datablocks, of `files` and `missing`
    loops: dict[Path, None] = field(default_factory=dict)  # links on disk that lead back to themselves
    uncompiled: dict[Path, None] = field(default_factory=dict)  # OSL scripts of which only the text is there
    many: dict[Path, None] = field(default_factory=dict)  # with more files than are looked at
    cycles: list[tuple[Path, ...]] = field(
        default_factory=list
    )  # libraries that link each other, or one itself
    pointers: list[Pointer] = field(default_factory=list)
    blends: dict[Path, tuple[int, int]] = field(default_factory=dict)  # those read, and their stamps

    def near(self, blend: Path) -> list[Path]:
        """Files that relative paths lead to, all the way from ``blend``."""
        return [file for file in self.files if file not in self.far and file != blend]


def needs_of(blend: Path) -> Needs:
    """Everything that ``blend`` and the libraries it links point at, apart from itself.

    Never raises for what is in the files: where the tracer fails, what was found so far stays, and
    `Needs.faults` says so. Nothing but plain files is ever opened.
    """
    needs = Needs()
    tracer = _Tracer(needs)
    try:
        tracer.visit(blend.absolute(), None)
        tracer.run()
    finally:
        tracer.close()
    needs.files.pop(blend.absolute(), None)
    needs.cycles = _cycles(tracer.links)
    return needs


def stamp(path: Path) -> tuple[int, int]:
    """Size (bytes) and time of change (ns); raises OSError. A file with the same stamp is as it was."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


class _Tracer:
    def __init__(self, needs: Needs) -> None:
        self._needs = needs
        self._readers: dict[Path, BlendReader] = {}  # the last used last
        self._broken: set[Path] = set()
        self._seen: dict[Path, set[int]] = defaultdict(set)  # places of datablocks in the file
        self._waiting: dict[Path, set[bytes]] = defaultdict(set)
        self.links: dict[Path, dict[Path, None]] = defaultdict(dict)  # which file links which

    def run(self) -> None:
        while self._waiting:
            self.visit(*self._waiting.popitem())

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()

    def visit(self, path: Path, names: set[bytes] | None) -> None:
        """Look at the datablocks ``names`` of the file and all that they use; None: at every one."""
        reader = self._reader(path)
        if reader is None:
            return
        try:
            waiting = list(reader.datablocks) if names is None else _named(reader, names)
            while waiting:
                one = waiting.pop()
                if one.block.file_offset in self._seen[path]:
                    continue
                self._seen[path].add(one.block.file_offset)
                try:
                    waiting += self._look(reader, path, one)
                except Exception as error:  # noqa: BLE001  one broken datablock costs only itself
                    self._fault(error, path)
        except Exception as error:  # noqa: BLE001  strange files bring strange faults; none may stop a submit
            self._fault(error, path)

    def _reader(self, path: Path) -> BlendReader | None:
        reader = self._readers.pop(path, None)
        if reader is None and path not in self._broken and _state(path) == "file":
            try:
                self._needs.blends.setdefault(path, stamp(path))
                reader = BlendReader(path)
            except Exception as error:  # noqa: BLE001  see `needs_of`
                self._broken.add(path)
                self._fault(error, path)
        if reader is not None:
            self._readers[path] = reader
            if len(self._readers) > _OPEN_AT_ONCE:
                self._readers.pop(next(iter(self._readers))).close()
        return reader

    def _fault(self, error: Exception, path: Path) -> None:
        self._needs.faults[f"{type(error).__name__} in “{path.name}”"] = None

    def _look(self, reader: BlendReader, path: Path, one: Datablock) -> list[Datablock]:
        """Take what a datablock names; gives back those that it uses."""
        if one.is_linked:
            library = reader.at(one.block[b"lib"])
            if library is None:
                return []
            target = lead(_name_of(library), path.parent)
            self.links[path][target] = None
            self._waiting[target].add(one.full_name)
            return [library]
        uses: dict[int, Datablock] = {}
        for link in links_of(reader, one, uses):
            if (link.needed or one.code != "LI") and self._take(link, path) and link.library is not None:
                for place in links_of(reader, link.library, {}):  # what it is relative to has to hold too
                    self._point(place, path)
        return list(uses.values())

    def _take(self, link: Link, path: Path) -> bool:
        """Note the files of a link; whether there is at least one."""
        if not link.written.strip(b"/\\.") and link.shape is Shape.FILE:
            return False  # nothing named: an unsaved image, an empty field, the folder itself
        base = lead(_name_of(link.library), path.parent) if link.library is not None else path
        found = self._files(link, lead(link.written, base.parent), path)
        if found:
            self._point(link, path)
        return found

    def _point(self, link: Link, path: Path) -> None:
        base = lead(_name_of(link.library), path.parent) if link.library is not None else None
        if link.slot is not None:
            target = lead(link.written, (base or path).parent)
            is_folder = link.shape in (Shape.NAMES, Shape.FOLDER)
            pointer = Pointer(path, link.written, link.slot, target, is_folder, base)
            self._needs.pointers.append(pointer)

    def _files(self, link: Link, target: Path, path: Path) -> bool:
        needs, found = self._needs, False
        near = is_relative(link.written) and path not in needs.far
        near = near and (link.library is None or is_relative(_name_of(link.library)))
        files = files_of(link, target)
        if len(files) >= MAX_FILES:
            needs.many[target] = None
        for file in files:
            state = _state(file)
            if state == "file":
                found = True
                self._add(file, near=near)
                if file.suffix == _OSL:
                    self._compiled(file, near=near)
            elif state == "loop":
                needs.loops[file] = None
            elif link.needed and link.shape is not Shape.FOLDER:
                needs.missing[file] = None
            needs.users.setdefault(file, {})[link.user] = None
        if not files and link.needed:
            needs.missing[target] = None
            needs.users.setdefault(target, {})[link.user] = None
        return found

    def _add(self, file: Path, *, near: bool) -> None:
        if near:
            self._needs.far.discard(file)
        elif file not in self._needs.files:
            self._needs.far.add(file)
        self._needs.files[file] = None

    def _compiled(self, script: Path, *, near: bool) -> None:
        """Cycles reads the compiled form beside a script, or writes it there: which no worker may do."""
        compiled = script.with_suffix(_OSO)
        if _state(compiled) == "file":
            self._add(compiled, near=near)
        else:
            self._needs.uncompiled[script] = None


def _named(reader: BlendReader, names: set[bytes]) -> list[Datablock]:
    return [found for name in sorted(names) if (found := reader.named(name)) is not None]


def _name_of(library: Datablock) -> bytes:
    return bytes(library.block.get(b"name", default=b"") or library.block.get(b"filepath", default=b""))


def _state(path: Path) -> str:
    """``file`` for a plain file, ``loop`` for links that lead in a circle, else ``none``."""
    if not path.is_absolute():  # of another system
        return "none"
    try:
        return "file" if stat.S_ISREG(os.stat(path).st_mode) else "none"  # noqa: PTH116
    except OSError as error:
        return "loop" if error.errno == errno.ELOOP else "none"
    except ValueError:  # a zero byte in the name
        return "none"


def _cycles(links: dict[Path, dict[Path, None]]) -> list[tuple[Path, ...]]:
    """Each circle of links once, from the file where it was entered."""
    found: dict[frozenset[Path], tuple[Path, ...]] = {}
    done: set[Path] = set()

    def walk(path: Path, way: tuple[Path, ...]) -> None:
        if path in way:
            circle = way[way.index(path) :]
            found.setdefault(frozenset(circle), circle)
        elif path not in done:
            for target in links.get(path, ()):
                walk(target, (*way, path))
            done.add(path)

    for path in list(links):
        walk(path, ())
    return list(found.values())
