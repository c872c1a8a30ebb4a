"""The size that an OpenEXR file claims, and whether it is all there, without decoding a pixel.

The worker does not decode pictures that a child wrote; it reads the few header fields it checks.
Layout: https://openexr.com/en/latest/OpenEXRFileLayout.html
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_MAGIC = 20000630
_MULTI_PART = 0x1000
_TILED = 0x200
_MOST_PARTS = 4096
_MOST_ATTRIBUTES = 100_000
_LINES = (1, 1, 1, 16, 32, 16, 32, 32, 32, 256)  # of a chunk, by the number of the compression


class NotExr(ValueError):
    """The bytes are no OpenEXR file, or not all of one."""


@dataclass(frozen=True)
class Part:
    """A part's data window in pixels. ``chunks`` is None where only decoding would tell."""

    x: int
    y: int
    width: int
    height: int
    chunks: int | None


def read_parts(path: Path) -> list[Part]:
    """The parts of the file; raises `NotExr` where it is none, or is cut short."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            magic, version = struct.unpack("<ii", _exactly(file, 8))
            if magic != _MAGIC:
                raise NotExr("this is not an OpenEXR file")
            multi = bool(version & _MULTI_PART)
            parts: list[Part] = []
            while len(parts) < _MOST_PARTS:
                part = _header(file, size, tiled=bool(version & _TILED))
                if part is None:
                    break
                parts.append(part)
                if not multi:
                    break
            if not parts:
                raise NotExr("the file has no parts")
            if all(part.chunks is not None for part in parts):
                _check_chunks(file, size, sum(part.chunks or 0 for part in parts), multi=multi)
    except (struct.error, OverflowError) as error:
        raise NotExr("the header is damaged") from error
    return parts


def _header(file: BinaryIO, size: int, *, tiled: bool) -> Part | None:
    """The next part; None at the empty header that ends a multi-part file's list."""
    window: tuple[int, int, int, int] | None = None
    chunks: int | None = None
    compression: int | None = None
    for _ in range(_MOST_ATTRIBUTES):
        name = _text(file)
        if not name:
            break
        _text(file)  # its type
        (length,) = struct.unpack("<i", _exactly(file, 4))
        if not 0 <= length <= size:
            raise NotExr("the header is damaged")
        if name == b"dataWindow" and length == 16:
            window = struct.unpack("<iiii", _exactly(file, length))
        elif name == b"chunkCount" and length == 4:
            (chunks,) = struct.unpack("<i", _exactly(file, length))
        elif name == b"compression" and length == 1:
            compression = _exactly(file, length)[0]
        else:
            file.seek(length, 1)
    else:
        raise NotExr("the header does not end")
    if window is None:
        if chunks is None and compression is None:
            return None
        raise NotExr("a part has no data window")
    x, y, right, bottom = window
    width, height = right - x + 1, bottom - y + 1
    if width < 1 or height < 1:
        raise NotExr("a part has no pixels")
    if chunks is None and not tiled and compression is not None and compression < len(_LINES):
        chunks = -(-height // _LINES[compression])
    return Part(x, y, width, height, chunks)


def _check_chunks(file: BinaryIO, size: int, count: int, *, multi: bool) -> None:
    """The offset table follows the headers: a writer that died left zeros, a cut file ends too early."""
    if not 0 < count <= size // 8:
        raise NotExr("the file is cut short")
    offsets = struct.unpack(f"<{count}Q", _exactly(file, 8 * count))
    first, last = min(offsets), max(offsets)
    if first < file.tell() or last >= size:
        raise NotExr("the file is cut short")
    file.seek(last + (8 if multi else 4))  # past the part's number and the line's
    (length,) = struct.unpack("<i", _exactly(file, 4))
    if length < 0 or file.tell() + length > size:
        raise NotExr("the file is cut short")


def _text(file: BinaryIO) -> bytes:
    """A zero-terminated name; at most 255 bytes."""
    name = bytearray()
    while (byte := _exactly(file, 1)) != b"\0":
        name += byte
        if len(name) > 255:
            raise NotExr("the header is damaged")
    return bytes(name)


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise NotExr("the file is cut short")
    return data
