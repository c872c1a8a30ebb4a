"""How an OpenEXR file lies on the disk: attributes as bytes, and where the blocks of each part start.

The OpenEXR library reads and writes whole files only. A block, though (a few lines of one part,
compressed), knows nothing of the file around it, so that any lines of any part can be handed to the
library as a file of their own (`Part.alone`), and what it makes of a few lines can be put into a larger
file (`blocks`). Nothing is decoded here. Any file may be hostile: what is read of it is bounded.

Layout (https://openexr.com/en/latest/OpenEXRFileLayout.html): magic, version, then for each part a list
of attributes ``name\\0 type\\0 size value`` that an empty name ends; a multi-part file ends its list of
parts with one more empty name. A table of 8-byte offsets for each part follows, then the blocks: in
multi-part files the part's number, then the first line's y, the size in bytes, the data.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO

MAGIC = 20000630
MULTI_PART = 0x1000
_LONG_NAMES = 0x400
_VERSION = 2
_MOST_ATTRIBUTES = 500_000  # of all parts
_LONGEST_NAME = 255
#: Lines of a block by the number of the compression: none, RLE, ZIPS, ZIP, PIZ, PXR24, B44, B44A, DWAA,
#: DWAB.
_LINES = (1, 1, 1, 16, 32, 16, 32, 32, 32, 256)
#: What a part needs so that its blocks can be decoded.
_OF_PIXELS = ("channels", "compression", "pixelAspectRatio", "screenWindowCenter", "screenWindowWidth")

_NOT_ONE = "it is not an EXR file, or it is cut short or damaged"

Attributes = Mapping[str, tuple[str, bytes]]  # type and value by name


class Unreadable(ValueError):
    """Not an EXR file, or one that is cut short, damaged or of a kind that Blender does not write."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """One part of a file: its attributes, and the offset of each block from the top line down."""

    number: int
    multi: bool
    attributes: Attributes
    offsets: tuple[int, ...]
    lines: int  # of a block; the last one may have fewer

    @property
    def window(self) -> tuple[int, int, int, int]:
        """The data window: left, top, right, bottom, the last two inside."""
        left, top, right, bottom = struct.unpack("<iiii", self.attributes["dataWindow"][1])
        return left, top, right, bottom

    def bare(self) -> Blocks:
        """The same with no more attributes than decoding needs."""
        needed = {name: self.attributes[name] for name in (*_OF_PIXELS, "dataWindow")}
        return replace(self, attributes=needed)

    def alone(self, file: BinaryIO, first: int, last: int) -> io.BytesIO:
        """Blocks [``first``, ``last``) as a file of a single part; raises `Unreadable`."""
        left, top, right, bottom = self.window
        start = top + first * self.lines
        end = min(bottom, top + last * self.lines - 1)
        window = struct.pack("<iiii", left, start, right, end)
        attributes = {
            **{name: self.attributes[name] for name in _OF_PIXELS},
            "dataWindow": ("box2i", window),
            "displayWindow": ("box2i", window),
            "lineOrder": ("lineOrder", b"\0"),
        }
        head = struct.pack("<ii", MAGIC, _VERSION | _LONG_NAMES) + packed(attributes)
        body = io.BytesIO()
        body.write(head)
        body.write(bytes(8 * (last - first)))
        table = []
        # Data that would not shrink is kept as it is: no block is longer than its pixels, 4 bytes at most.
        longest = 4 * (right - left + 1) * self.lines * len(channels(self.attributes))
        for index in range(first, last):
            table.append(body.tell())
            y = top + index * self.lines
            data = self._block(file, index, y, longest)
            body.write(struct.pack("<ii", y, len(data)))
            body.write(data)
        body.seek(len(head))
        body.write(struct.pack(f"<{len(table)}Q", *table))
        body.seek(0)
        return body

    def _block(self, file: BinaryIO, index: int, top: int, longest: int) -> bytes:
        file.seek(self.offsets[index])
        leader = _exactly(file, 12 if self.multi else 8)
        number, y, size = struct.unpack("<iii", leader if self.multi else b"\0\0\0\0" + leader)
        if number != (self.number if self.multi else 0) or y != top:
            raise Unreadable("a block of pixels is not where it should be")
        if not 0 < size <= longest:
            raise Unreadable("a block of pixels is damaged")
        return _exactly(file, size)


def read_layout(file: BinaryIO) -> list[Blocks]:
    """The parts of ``file``; raises `Unreadable` for anything but whole parts of lines."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    try:
        return _read(file, size)
    except (struct.error, OverflowError, KeyError, UnicodeDecodeError) as error:
        raise Unreadable(_NOT_ONE) from error


def _read(file: BinaryIO, size: int) -> list[Blocks]:
    magic, version = struct.unpack("<ii", _exactly(file, 8))
    if magic != MAGIC:
        raise Unreadable(_NOT_ONE)
    multi = bool(version & MULTI_PART)
    headers: list[dict[str, tuple[str, bytes]]] = []
    left = _MOST_ATTRIBUTES
    while attributes := _attributes(file, size, left):
        headers.append(attributes)
        left -= len(attributes)
        if not multi:
            break
    if not headers:
        raise Unreadable(_NOT_ONE)
    return [_blocks(file, size, number, multi, attributes) for number, attributes in enumerate(headers)]


def _attributes(file: BinaryIO, size: int, left: int) -> dict[str, tuple[str, bytes]]:
    found: dict[str, tuple[str, bytes]] = {}
    while name := _text(file):
        kind, length = _text(file), struct.unpack("<i", _exactly(file, 4))[0]
        if not 0 <= length <= size or len(found) >= left or name in found:
            raise Unreadable(_NOT_ONE)
        found[name] = (kind, _exactly(file, length))
    return found


def _blocks(file: BinaryIO, size: int, number: int, multi: bool, attributes: Attributes) -> Blocks:
    if not {*_OF_PIXELS, "dataWindow"} <= attributes.keys():
        raise Unreadable(_NOT_ONE)
    compression = attributes["compression"][1]
    if len(compression) != 1 or compression[0] >= len(_LINES):
        raise Unreadable("it is compressed in a way that Blender does not write")
    name = attributes.get("name", ("string", b""))[1].decode()
    kind = attributes.get("type", ("string", b"scanlineimage"))[1]
    if kind != b"scanlineimage" or "tiles" in attributes:
        raise Unreadable(f"“{name}” holds tiles or deep pixels, which Blender does not write")
    lines = _LINES[compression[0]]
    _, top, _, bottom = struct.unpack("<iiii", attributes["dataWindow"][1])
    count = -(-(bottom - top + 1) // lines)
    if not 0 < count <= size // 8:
        raise Unreadable(_NOT_ONE)
    offsets = struct.unpack(f"<{count}Q", _exactly(file, 8 * count))
    if min(offsets) < file.tell() or max(offsets) >= size:
        where = f" in “{name}”" if name else ""
        raise Unreadable(f"pixels are damaged or cut short{where}")
    return Blocks(number, multi, attributes, offsets, lines)


def channels(attributes: Attributes) -> list[tuple[str, int, bool, int, int]]:
    """Of each channel: name, pixel type (0 uint32, 1 half, 2 float), pLinear, sampling along x and y."""
    value = attributes["channels"][1]
    found, at = [], 0
    while (end := value.find(b"\0", at)) > at:
        kind, linear, across, down = struct.unpack("<iB3xii", value[end + 1 : end + 17])
        found.append((value[at:end].decode(), kind, bool(linear), across, down))
        at = end + 17
    return found


def blocks(file: bytes) -> tuple[int, Iterator[tuple[int, memoryview]]]:
    """Of a file of a single part: lines of a block, and of each block its first line's y and its data."""
    (part,) = read_layout(io.BytesIO(file))
    view = memoryview(file)

    def each() -> Iterator[tuple[int, memoryview]]:
        for offset in part.offsets:
            y, size = struct.unpack("<ii", view[offset : offset + 8])
            yield y, view[offset + 8 : offset + 8 + size]

    return part.lines, each()


def packed(attributes: Attributes) -> bytes:
    """The header of one part, with the empty name that ends it."""
    written = [
        name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<i", len(value)) + value
        for name, (kind, value) in attributes.items()
    ]
    return b"".join(written) + b"\0"


def _text(file: BinaryIO) -> str:
    name = bytearray()
    while (byte := _exactly(file, 1)) != b"\0":
        name += byte
        if len(name) > _LONGEST_NAME:
            raise Unreadable(_NOT_ONE)
    return name.decode()


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise Unreadable(_NOT_ONE)
    return data
