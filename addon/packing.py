"""From what Blender named to the manifest that the farm takes. Runs in the worker thread; no bpy."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from threading import Event
from typing import Any

from .places import Layout
from .trouble import Stopped, Trouble, reason

MAX_FILES = 100_000  # of one sequence or cache folder
_PIECE = 1 << 20
_TOKENS = {"<UDIM>": r"[0-9]{4}", "<UVTILE>": r"u[0-9]+_v[0-9]+"}


@dataclass(frozen=True)
class Use:
    """A path that a data-block names. ``owner`` is the .blend that holds it; "" for the artist's own."""

    user: str  # for people: Image “wood.png”
    raw: str
    path: str
    owner: str = ""
    sequence: bool = False
    optional: bool = False  # a cache that need not exist


@dataclass(frozen=True)
class Finding:
    """Something to know before or after submitting; ``weight`` is error, warning or note, as the farm's."""

    weight: str
    what: str
    cure: str = ""


@dataclass(frozen=True)
class Local:
    """A file to send, and where it lies on this machine."""

    source: str
    sha256: str
    bytes: int


@dataclass
class Pack:
    """What travels: files by their place, and which of them is the .blend to open."""

    main: str
    files: dict[str, Local] = field(default_factory=dict)

    def manifest(self) -> dict[str, Any]:
        """As ``POST /api/scenes`` takes it."""
        files = {name: {"sha256": one.sha256, "bytes": one.bytes} for name, one in sorted(self.files.items())}
        return {"main": self.main, "files": files}


def sources(uses: tuple[Use, ...], findings: list[Finding]) -> dict[str, None]:
    """Full paths of the files behind ``uses``; what is not there becomes a finding, once a path."""
    found: dict[str, None] = {}
    missing: dict[str, list[str]] = {}
    for use in uses:
        there = list(islice(_files(use), MAX_FILES))
        found.update(dict.fromkeys(there))
        if not there and not use.optional:
            missing.setdefault(use.path, []).append(use.user)
    for path, users in missing.items():
        named = ", ".join(dict.fromkeys(users))
        findings.append(
            Finding(
                "warning",
                f"“{shown(path)}” is not there. It is used by {named}.",
                "Put the file back, or point at it again.",
            )
        )
    return found


def add(
    pack: Pack,
    place: str,
    source: str,
    stopped: Event,
    read: Callable[[int], None] = lambda _: None,
) -> None:
    """Hash the file at ``source`` and put it at ``place``; raises OSError and `Stopped`."""
    digest, size = hashlib.sha256(), 0
    with open(source, "rb") as file:
        while piece := file.read(_PIECE):
            if stopped.is_set():
                raise Stopped
            digest.update(piece)
            size += len(piece)
            read(len(piece))
    pack.files[place] = Local(source, digest.hexdigest(), size)


def gathered(
    pack: Pack,
    layout: Layout,
    files: dict[str, str],
    findings: list[Finding],
    stopped: Event,
    read: Callable[[int], None],
) -> None:
    """Hash all ``files`` (their full path here, and where their bytes lie) into ``pack``."""
    for path, source in files.items():
        if not speakable(path):
            findings.append(_left_out(path, "has a name that does not travel"))
            continue
        try:
            add(pack, layout.place(path), source, stopped, read)
        except OSError as error:
            findings.append(_left_out(path, f"cannot be read ({reason(error)})"))


def pieces(local: Local, sent: Callable[[int], None], stopped: Event) -> Iterator[bytes]:
    """The bytes of ``local``; ``sent`` is told of each piece, and takes them back where it ends early."""
    told = 0
    try:
        with open(local.source, "rb") as file:
            while piece := file.read(_PIECE):
                if stopped.is_set():
                    raise Stopped
                if told + len(piece) > local.bytes:
                    raise _changed(local)
                yield piece
                told += len(piece)
                sent(len(piece))
        if told < local.bytes:
            raise _changed(local)
        told = 0
    except OSError as error:
        raise Trouble(
            f"“{shown(local.source)}” cannot be read: {reason(error)}.", "Put it back and submit again."
        ) from None
    finally:
        if told:
            sent(-told)


def shown(path: str) -> str:
    """The path as text that any panel and JSON can carry."""
    return path.encode(errors="replace").decode()


def speakable(path: str) -> bool:
    """Whether the path can stand in a manifest: Unicode, and no backslash that another system splits at."""
    return (os.sep == "\\" or "\\" not in path) and not any("\ud800" <= letter <= "\udfff" for letter in path)


def _files(use: Use) -> Iterator[str]:
    folder, name = os.path.split(use.path)
    if any(token in name for token in _TOKENS):
        pattern = re.escape(name)
        for token, digits in _TOKENS.items():
            pattern = pattern.replace(re.escape(token), digits)
        yield from _alike(folder, pattern)
    elif os.path.isdir(use.path):
        for here, _, names in os.walk(use.path):
            yield from (path for one in sorted(names) if plain(path := os.path.join(here, one)))
    elif use.sequence and (numbered := re.fullmatch(r"(.*?)([0-9]+)([^0-9]*)", name, re.DOTALL)):
        yield from _alike(folder, re.escape(numbered[1]) + "[0-9]+" + re.escape(numbered[3]))
    elif plain(use.path):
        yield use.path


def _alike(folder: str, pattern: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if re.fullmatch(pattern, name) and plain(path):
            yield path


def plain(path: str) -> bool:
    """Whether a plain file lies at ``path``; a pipe or a device is none."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _left_out(path: str, why: str) -> Finding:
    return Finding("warning", f"“{shown(path)}” {why}, so it is not sent along.", "Rename or copy it.")


def _changed(local: Local) -> Trouble:
    return Trouble(f"“{shown(local.source)}” changed while it was being sent.", "Wait, then submit again.")
