"""A first look at a .blend without Blender: is it one at all, and who saved it?

It catches what a person can put right before anything is sent: a missing file, an LFS pointer, a
download cut short. Whether Blender can open the file is for the farm's inspection to say.

Layout: `BLENDER`, then either the old header of 12 bytes (pointer size, endianness, three digits of
version) or that of Blender 5.0 of 17 bytes (header size, format, endianness, four digits); see
`BLO_readfile` and `BLO_core_blend_header.hh` in Blender's source. The whole may be inside gzip
(until 2.93) or zstd (since 3.0). The last block of a file is called `ENDB`.
"""

from __future__ import annotations

import gzip
import re
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

import zstandard

from farm.domain.errors import BadInput

_MAGIC = b"BLENDER"
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_LFS = b"version https://git-lfs.github.com/spec/"
_HEADER = 17  # bytes of the longer header
_TAIL = 4096  # bytes at the end in which ENDB must stand
_SMALLEST = 1024  # bytes; the description of Blender's structures alone takes more

_OLD = re.compile(rb"BLENDER[-_][vV](\d{3})")
_NEW = re.compile(rb"BLENDER17-01v(\d{4})")


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class BlendHeader:
    """What the first bytes say. ``version`` is that of the Blender that saved the file: ``5.2``."""

    version: str
    compression: Compression


def check(path: Path) -> BlendHeader:
    """The header of the .blend at ``path``; raises `BadInput` for anything else, with its cure."""
    name = path.name or str(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise BadInput(f"There is no file “{path}”.", "Check the name and the folder.") from None
    except OSError as error:
        raise BadInput(f"“{path}” cannot be read: {_reason(error)}.", "Check its permissions.") from None
    if stat.S_ISDIR(mode):
        raise BadInput(f"“{path}” is a folder.", "Name the .blend file inside of it.")
    if not stat.S_ISREG(mode):
        raise BadInput(f"“{path}” is a device, not a file.", "Name a .blend file.")
    try:
        with path.open("rb") as file:
            return _look(file, path.stat().st_size, name)
    except OSError as error:
        raise BadInput(f"“{path}” cannot be read: {_reason(error)}.", "Check its permissions.") from None


def _look(file: IO[bytes], size: int, name: str) -> BlendHeader:
    if size == 0:
        raise BadInput(f"“{name}” is empty.", "Save it again from Blender, or copy it again.")
    head = file.read(len(_LFS))
    if head == _LFS:
        raise BadInput(f"“{name}” is a Git LFS pointer, not the scene itself.", "Run: git lfs pull")
    file.seek(0)
    compression = (
        Compression.GZIP
        if head.startswith(_GZIP)
        else Compression.ZSTD
        if head.startswith(_ZSTD)
        else Compression.NONE
    )
    start = _start(file, compression, name)
    if not _MAGIC.startswith(start[: len(_MAGIC)]) and not start.startswith(_MAGIC):
        raise BadInput(f"“{name}” is not a Blender file.", "Name a file that Blender saved (.blend).")
    if compression is Compression.NONE and (size < _SMALLEST or not _ends(file, size)):
        raise _cut_short(name)
    return BlendHeader(_version(start, name), compression)


def _start(file: IO[bytes], compression: Compression, name: str) -> bytes:
    """The first bytes, unpacked."""
    try:
        if compression is Compression.GZIP:
            with gzip.open(file) as unpacked:
                return unpacked.read(_HEADER)
        if compression is Compression.ZSTD:
            with zstandard.ZstdDecompressor().stream_reader(file, closefd=False) as unpacked:
                return bytes(unpacked.read(_HEADER))
    except (EOFError, gzip.BadGzipFile, zstandard.ZstdError):
        raise _cut_short(name) from None
    return file.read(_HEADER)


def _version(start: bytes, name: str) -> str:
    old, new = _OLD.match(start), _NEW.match(start)
    if new:
        number = int(new[1])
    elif old:
        number = int(old[1])
    elif len(start) < _HEADER:
        raise _cut_short(name)
    else:
        raise BadInput(
            f"“{name}” has a header that this Tessera does not know.",
            "Save it from a Blender of the same version as the farm's.",
        )
    return f"{number // 100}.{number % 100}"


def _ends(file: IO[bytes], size: int) -> bool:
    file.seek(max(0, size - _TAIL))
    return b"ENDB" in file.read(_TAIL)


def _cut_short(name: str) -> BadInput:
    return BadInput(f"“{name}” is cut short or damaged.", "Copy or download it again, or save it again.")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
