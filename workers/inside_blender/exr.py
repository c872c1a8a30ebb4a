"""Reads the header of an OpenEXR file (size, channels, text attributes), and whether the rest is there.

Blender's Python has no OpenEXR library, and Blender itself does not tell these. The layout is from
"OpenEXR File Layout" (openexr.com): magic, version, then per part a list of attributes
``name\\0 type\\0 size value`` ended by an empty name; a multi-part file ends its list of parts with
one more empty name. A table of where each block of lines starts follows, then the blocks.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from workers.inside_blender.problem import BAD_RESULT, Problem

MAGIC = 20000630
MULTI_PART = 0x1000
#: Lines of a block of pixels, by the number of the compression: none, RLE, ZIPS, ZIP, PIZ, PXR24, B44,
#: B44A, DWAA, DWAB.
LINES_OF_CHUNK = (1, 1, 1, 16, 32, 16, 32, 32, 32, 256)
LARGEST_ATTRIBUTE = 256 * 1024 * 1024  # a Cryptomatte manifest is the scene's names; this is beyond any


@dataclass
class Header:
    """All parts of a file taken together."""

    width: int = 0  # of the first part's data window, pixels
    height: int = 0
    channels: list[str] = field(default_factory=list)  # full names, as ``ViewLayer.Combined.R``
    texts: dict[str, str] = field(default_factory=dict)


def read(path: str) -> Header:
    """The header of ``path``; `Problem` (bad-result) where it is no EXR or does not hold all its pixels."""
    try:
        with Path(path).open("rb") as stream:
            return _parse(stream)
    except (struct.error, LookupError) as error:
        raise Problem(BAD_RESULT, f"“{Path(path).name}” is an EXR file that is cut short.") from error
    except (OSError, ValueError) as error:
        raise Problem(BAD_RESULT, f"“{Path(path).name}” is not a readable EXR file: {error}.") from error


def _parse(stream: BinaryIO) -> Header:
    magic, version = struct.unpack("<II", stream.read(8))
    if magic != MAGIC:
        raise ValueError("it does not start as one")
    multi = bool(version & MULTI_PART)
    header, chunks = Header(), 0
    while attributes := _attributes(stream):
        _take(header, attributes, first=not header.channels)
        chunks += _chunk_count(attributes)
        if not multi:
            break
    _check_complete(stream, chunks, multi)
    return header


def _chunk_count(attributes: dict[str, tuple[str, bytes]]) -> int:
    """How many blocks of lines the part has; multi-part files say so, in others it follows from the size."""
    if "chunkCount" in attributes:
        (count,) = struct.unpack("<i", attributes["chunkCount"][1])
        return int(count)
    _, top, _, bottom = struct.unpack("<4i", attributes["dataWindow"][1])
    lines = LINES_OF_CHUNK[attributes["compression"][1][0]]
    return -(-int(bottom - top + 1) // lines)


def _check_complete(stream: BinaryIO, chunks: int, multi: bool) -> None:
    """Raise ValueError unless the last block of pixels ends within the file.

    Blender reads a file that was cut short without a word and leaves the rest of the picture black.
    """
    table = stream.read(8 * chunks)
    last = max(struct.unpack(f"<{chunks}Q", table), default=0)
    stream.seek(last + (8 if multi else 4))  # part number, y; then the block's size
    (size,) = struct.unpack("<i", stream.read(4))
    if stream.seek(0, 2) < last + (12 if multi else 8) + size:
        raise ValueError("it is cut short")


def _attributes(stream: BinaryIO) -> dict[str, tuple[str, bytes]]:
    found: dict[str, tuple[str, bytes]] = {}
    while name := _text(stream):
        kind = _text(stream)
        (size,) = struct.unpack("<i", stream.read(4))
        if not 0 <= size <= LARGEST_ATTRIBUTE:
            raise ValueError(f"attribute {name} has {size} bytes")
        value = stream.read(size)
        if len(value) != size:
            raise ValueError("it is cut short")
        found[name] = (kind, value)
    return found


def _take(header: Header, attributes: dict[str, tuple[str, bytes]], *, first: bool) -> None:
    for name, (kind, value) in attributes.items():
        if kind == "chlist":
            header.channels += _channels(value)
        elif kind == "string" and first:
            header.texts[name] = value.decode("utf-8", "replace")
        elif name == "dataWindow" and first:
            left, top, right, bottom = struct.unpack("<4i", value)
            header.width, header.height = right - left + 1, bottom - top + 1


def _channels(value: bytes) -> list[str]:
    names, at = [], 0
    while value[at : at + 1] not in (b"\0", b""):
        end = value.index(b"\0", at)
        names.append(value[at:end].decode("utf-8", "replace"))
        at = end + 1 + 16  # pixel type, pLinear and three reserved bytes, x and y sampling
    return names


def _text(stream: BinaryIO) -> str:
    letters = bytearray()
    while (letter := stream.read(1)) != b"\0":
        if not letter:
            raise ValueError("it is cut short")
        letters += letter
        if len(letters) > 255:
            raise ValueError("a name in it is too long")
    return letters.decode("utf-8", "replace")
