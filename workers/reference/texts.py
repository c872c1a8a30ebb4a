"""What a PNG or a JPEG says besides its pixels: texts by key, and how the pixels are to be understood."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8"
_MOST = 1 << 20  # bytes of a compressed text
_BLENDER = "Blender:"  # before the key of a JPEG's comment


def read(path: str) -> dict[str, str] | None:
    """Metadata by key; None for another format. What is no text is told as hexadecimal numbers.

    Of a PNG: its texts, and every chunk but those of the pixels. Of a JPEG: Blender's comments, and the
    segments before the pixels but for the Huffman tables, which follow from them.
    """
    data = Path(path).read_bytes()
    if data.startswith(_PNG):
        return _collected(_png(data))
    if data.startswith(_JPEG):
        return _collected(_jpeg(data))
    return None


def _collected(found: Iterator[tuple[str, str]]) -> dict[str, str]:
    """A key that comes twice keeps all it says."""
    texts: dict[str, str] = {}
    for key, value in found:
        texts[key] = f"{texts[key]} {value}" if key in texts else value
    return texts


def _png(data: bytes) -> Iterator[tuple[str, str]]:
    at = len(_PNG)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length
        if kind in (b"tEXt", b"zTXt", b"iTXt"):
            key, _, rest = body.partition(b"\0")
            yield key.decode("latin-1"), _text(kind, rest)
        elif kind not in (b"IDAT", b"IEND"):
            yield f"chunk {kind.decode('latin-1')}", body.hex()


def _text(kind: bytes, rest: bytes) -> str:
    if kind == b"tEXt":
        return rest.decode("latin-1")
    if kind == b"zTXt":
        return _inflated(rest[1:]).decode("latin-1")
    compressed = rest[:1] == b"\1"  # then the method, a language, a translated key
    text = rest[2:].split(b"\0", 2)[-1]
    return (_inflated(text) if compressed else text).decode(errors="replace")


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, _MOST)
    except zlib.error:
        return data


def _jpeg(data: bytes) -> Iterator[tuple[str, str]]:
    at = len(_JPEG)
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        kind, (length,) = data[at + 1], struct.unpack_from(">H", data, at + 2)
        body = data[at + 4 : at + 2 + length]
        at += 2 + length
        text = body.decode(errors="replace").rstrip("\0")
        if kind == 0xFE and text.startswith(_BLENDER):
            key, _, value = text.removeprefix(_BLENDER).partition(":")
            yield key, value
        elif kind != 0xC4:
            yield f"segment {kind:02x}", body.hex()
