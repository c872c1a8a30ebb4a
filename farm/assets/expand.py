"""Which files on disk a path stands for."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from farm.assets.links import Link, Shape

#: Files of one sequence or cache folder that are looked at before the rest is left behind.
MAX_FILES = 100_000

_UDIM, _UVTILE = re.compile(r"1\d{3}"), re.compile(r"u\d+_v\d+")
#: The last number of a name is that of the frame, as in `BLI_path_sequence_decode`; not in the extension.
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)


def files_of(link: Link, path: Path) -> list[Path]:
    """The files that ``link``, which leads to ``path``, stands for; those named one by one may be absent."""
    match link.shape:
        case Shape.FILE:
            return [path]
        case Shape.NAMES:
            return [path / os.fsdecode(name) for name in islice(link.inside, MAX_FILES)]
        case Shape.SEQUENCE:
            return _sequence(path) or [path]
        case Shape.TILES:
            return _tiles(path) or [path]
        case Shape.FOLDER:
            return list(islice(_matching(path, link.inside), MAX_FILES))


def _sequence(path: Path) -> list[Path]:
    parts = _NUMBERED.fullmatch(path.stem)
    if parts is None:
        return []
    return _beside(path, re.compile(re.escape(parts[1]) + r"\d+" + re.escape(parts[3] + path.suffix)))


def _tiles(path: Path) -> list[Path]:
    for token, number in (("<UDIM>", _UDIM), ("<UVTILE>", _UVTILE)):
        head, found, tail = path.name.partition(token)
        if found:
            return _beside(path, re.compile(re.escape(head) + number.pattern + re.escape(tail)))
    # Old files name the first tile instead: ``wood.1001.png``.
    head, found, tail = path.name.rpartition("1001")
    return _beside(path, re.compile(re.escape(head) + _UDIM.pattern + re.escape(tail))) if found else []


def _beside(path: Path, names: re.Pattern[str]) -> list[Path]:
    try:
        with os.scandir(path.parent) as entries:
            found = sorted(entry.name for entry in entries if names.fullmatch(entry.name))
    except (OSError, ValueError):
        return []
    return [path.with_name(name) for name in found[:MAX_FILES]]


def _matching(folder: Path, patterns: tuple[bytes, ...]) -> Iterator[Path]:
    for pattern in patterns:
        text = pattern.decode()
        for found in sorted(glob.glob(text, root_dir=folder)):  # noqa: PTH207  Path.glob() does not sort
            yield folder / found
