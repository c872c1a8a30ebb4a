"""The smallest pictures that are whole: what a fake child gives for a render. Standard library only."""

from __future__ import annotations

import struct
import zlib

#: A pixel's one value, as an EXR has it.
LIT, DARK, NAN = (struct.pack("<f", value) for value in (0.5, 0.0, float("nan")))
#: Starts and ends as a JPEG does; no picture in between.
JPEG = b"\xff\xd8\xff\xe0" + bytes(32) + b"\xff\xd9"


def png(width: int, height: int) -> bytes:
    """A black greyscale PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes((1 + width) * height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def mp4(frames: int) -> bytes:
    """The boxes of an MP4 file of a size that tells how many ``frames`` went in; no picture in them."""

    def box(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I4s", 8 + len(data), name) + data

    return box(b"ftyp", b"isom") + box(b"mdat", bytes(frames)) + box(b"moov", b"")


def exr(width: int, height: int, pixel: bytes = b"", channel: str = "ViewLayer.Combined.V") -> bytes:
    """A one-channel, uncompressed, 32-bit OpenEXR, every pixel the same: lit, where nothing else is said."""
    pixel = pixel or LIT

    def attribute(name: str, kind: str, data: bytes) -> bytes:
        return name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<i", len(data)) + data

    channels = channel.encode() + b"\0" + struct.pack("<iiii", 2, 0, 1, 1) + b"\0"
    box = struct.pack("<iiii", 0, 0, width - 1, height - 1)
    header = struct.pack("<ii", 20000630, 2) + b"".join(
        (
            attribute("channels", "chlist", channels),
            attribute("compression", "compression", b"\0"),
            attribute("dataWindow", "box2i", box),
            attribute("displayWindow", "box2i", box),
            attribute("lineOrder", "lineOrder", b"\0"),
            attribute("pixelAspectRatio", "float", struct.pack("<f", 1.0)),
            attribute("screenWindowCenter", "v2f", struct.pack("<ff", 0.0, 0.0)),
            attribute("screenWindowWidth", "float", struct.pack("<f", 1.0)),
        )
    )
    header += b"\0"
    line = 8 + 4 * width
    start = len(header) + 8 * height
    table = b"".join(struct.pack("<Q", start + y * line) for y in range(height))
    lines = b"".join(struct.pack("<ii", y, 4 * width) + pixel * width for y in range(height))
    return header + table + lines
