"""What an OpenEXR file says of itself, and whether it is all there, without decoding a pixel.

Standard library only, Python 3.11 syntax: Blender's Python has no OpenEXR library and Blender itself
does not tell, and the worker does not decode pictures that a child wrote. Any file may be hostile: what
is read of it is bounded.

Layout (https://openexr.com/en/latest/OpenEXRFileLayout.html): magic, version, then for each part a list
of attributes ``name\\0 type\\0 size value`` that an empty name ends; a multi-part file ends its list of
parts with one more empty name. A table of where each block of lines starts follows, then the blocks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

_MAGIC = 20000630
_OF_USE = ("dataWindow", "chunkCount", "compression")
_MULTI_PART = 0x1000
_TILED = 0x200
_MOST_ATTRIBUTES = 500_000  # of all parts
_MOST_BYTES = 256 * 1024 * 1024  # of one attribute: a Cryptomatte manifest is the scene's names
_MOST_BLOCKS = 1 << 26
_TABLE_READ = 1 << 20  # bytes of the table at once
#: Lines of a block, by the number of the compression: none, RLE, ZIPS, ZIP, PIZ, PXR24, B44, B44A, DWAA,
#: DWAB.
_LINES = (1, 1, 1, 16, 32, 16, 32, 32, 32, 256)


class NotExr(ValueError):
    """The bytes are no OpenEXR file, or not all of one."""


@dataclass(frozen=True)
class Part:
    """A part's data window in pixels, and what was asked for of its names and texts.

    ``channels`` are full names, as ``ViewLayer.Combined.R``; ``texts`` are the attributes that hold text.
    """

    x: int
    y: int
    width: int
    height: int
    channels: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def read_parts(path: Path, *, names: bool = False) -> list[Part]:
    """The parts of the file, with channels and texts where ``names`` asks for them.

    Raises `NotExr` where it is none, or is cut short, and OSError.
    """
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            return _parts(_Reader(file, size, names))
    except (struct.error, OverflowError) as error:
        raise NotExr("the header is damaged") from error


@dataclass
class _Reader:
    """A file while it is read: ``left`` attributes may still come."""

    file: BinaryIO
    size: int
    names: bool
    left: int = _MOST_ATTRIBUTES

    def exactly(self, count: int) -> bytes:
        data = self.file.read(count)
        if len(data) != count:
            raise NotExr("the file is cut short")
        return data

    def number(self) -> int:
        return int(struct.unpack("<i", self.exactly(4))[0])

    def text(self) -> str:
        """A zero-terminated name; at most 255 bytes."""
        name = bytearray()
        while (byte := self.exactly(1)) != b"\0":
            name += byte
            if len(name) > 255:
                raise NotExr("the header is damaged")
        return name.decode(errors="replace")

    def attributes(self) -> Iterator[tuple[str, str, bytes]]:
        """Name, type and value of what is of use here, up to the end of a part's list."""
        while name := self.text():
            self.left -= 1
            kind, length = self.text(), self.number()
            if self.left < 0 or not 0 <= length <= self.size:
                raise NotExr("the header is damaged")
            wanted = self.names and kind in ("chlist", "string")
            if wanted or name in _OF_USE:
                if length > (_MOST_BYTES if wanted else 16):
                    raise NotExr("the header is damaged")
                yield name, kind, self.exactly(length)
            else:
                self.file.seek(length, 1)


def _parts(reader: _Reader) -> list[Part]:
    magic, version = struct.unpack("<ii", reader.exactly(8))
    if magic != _MAGIC:
        raise NotExr("this is not an OpenEXR file")
    multi = bool(version & _MULTI_PART)
    parts: list[Part] = []
    blocks: int | None = 0  # None where only decoding would tell
    while attributes := list(reader.attributes()):
        found = {name: value for name, _, value in attributes}
        parts.append(_part(attributes, found))
        count = _block_count(found, parts[-1].height, tiled=bool(version & _TILED))
        blocks = None if blocks is None or count is None else blocks + count
        if not multi:
            break
    if not parts:
        raise NotExr("the file has no parts")
    if blocks is not None:
        _check_blocks(reader, blocks, multi=multi)
    return parts


def _part(attributes: list[tuple[str, str, bytes]], found: dict[str, bytes]) -> Part:
    if len(found.get("dataWindow", b"")) != 16:
        raise NotExr("a part has no data window")
    x, y, right, bottom = struct.unpack("<iiii", found["dataWindow"])
    width, height = right - x + 1, bottom - y + 1
    if width < 1 or height < 1:
        raise NotExr("a part has no pixels")
    channels = [name for _, kind, value in attributes if kind == "chlist" for name in _channels(value)]
    texts = {name: value.decode(errors="replace") for name, kind, value in attributes if kind == "string"}
    return Part(x, y, width, height, channels, texts)


def _channels(value: bytes) -> Iterator[str]:
    at = 0
    while (end := value.find(b"\0", at)) > at:
        yield value[at:end].decode(errors="replace")
        at = end + 1 + 16  # pixel type, pLinear and three reserved bytes, x and y sampling


def _block_count(found: dict[str, bytes], height: int, *, tiled: bool) -> int | None:
    """Multi-part files say how many blocks a part has; in others of lines it follows from the size."""
    if len(found.get("chunkCount", b"")) == 4:
        return int(struct.unpack("<i", found["chunkCount"])[0])
    compression = found.get("compression", b"")
    if tiled or len(compression) != 1 or compression[0] >= len(_LINES):
        return None
    return -(-height // _LINES[compression[0]])


def _check_blocks(reader: _Reader, count: int, *, multi: bool) -> None:
    """The offset table follows the headers: a writer that died left zeros, a cut file ends too early."""
    if not 0 < count <= min(reader.size // 8, _MOST_BLOCKS):
        raise NotExr("the file is cut short")
    first, last, left = reader.size, 0, 8 * count
    while left:
        data = reader.exactly(min(left, _TABLE_READ))
        offsets = struct.unpack(f"<{len(data) // 8}Q", data)
        first, last = min(first, *offsets), max(last, *offsets)
        left -= len(data)
    if first < reader.file.tell() or last >= reader.size:
        raise NotExr("the file is cut short")
    reader.file.seek(last + (8 if multi else 4))  # past the part's number and the line's
    length = reader.number()
    if length < 0 or reader.file.tell() + length > reader.size:
        raise NotExr("the file is cut short")
