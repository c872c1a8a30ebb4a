"""Whether a file can be a whole movie. Decodes nothing: a child wrote it, and it may be hostile."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from farm.domain.work import Cause
from workers.failures import AttemptFailed
from workers.pictures import media_type

_MOST_BOXES = 100_000
_EBML, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
_CURE = "The log may say why. If the disk is full or slow, the next try goes better."


def check_movie(path: Path, name: str) -> None:
    """Raise `AttemptFailed` (bad-result) for an empty file, and for one that its container shows cut short.

    MP4 and QuickTime have a movie box, and Matroska and WebM a size, only once they are written to their
    end. Other containers can be read from anywhere, and nothing shows where they should end.
    """
    size = path.stat().st_size
    if size == 0:
        raise AttemptFailed(Cause.BAD_RESULT, f"Blender wrote an empty file, “{name}”.", _CURE)
    check = _CHECKS.get(media_type(name))
    if check is not None:
        with path.open("rb") as file:
            whole = check(file, size)
        if not whole:
            raise AttemptFailed(Cause.BAD_RESULT, f"“{name}” is not a whole movie.", _CURE)


def _iso(file: BinaryIO, size: int) -> bool:
    """Boxes of size and name follow each other to the end of the file, one of them is “moov”."""
    at, names = 0, set()
    for _ in range(_MOST_BOXES):
        if at == size:
            break
        file.seek(at)
        head = file.read(16)
        if len(head) < 8:
            return False
        length = int.from_bytes(head[:4], "big")
        if length == 1 and len(head) == 16:
            length = int.from_bytes(head[8:], "big")
        if length < 8 or at + length > size:
            return False
        names.add(head[4:8])
        at += length
    return at == size and b"moov" in names


def _matroska(file: BinaryIO, size: int) -> bool:
    """An EBML header and then a segment, whose size is filled in last."""
    if file.read(4) != _EBML or (length := _vint(file)) is None:
        return False
    file.seek(length, 1)
    if file.read(4) != _SEGMENT or (length := _vint(file)) is None:
        return False
    return file.tell() + length == size


def _vint(file: BinaryIO) -> int | None:
    """A number of EBML (RFC 8794, 4); None where it is none, or stands for “unknown”."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    more = 8 - first[0].bit_length()
    rest = file.read(more)
    value = int.from_bytes(bytes([first[0] - (1 << (7 - more))]) + rest, "big")
    return None if len(rest) < more or value == (1 << (7 * (more + 1))) - 1 else value


def _riff(file: BinaryIO, size: int) -> bool:
    """Lists of size follow each other to the end of the file: long movies have several."""
    at = 0
    for _ in range(_MOST_BOXES):
        if at >= size:
            break
        file.seek(at)
        head = file.read(12)
        if len(head) < 12 or head[:4] != b"RIFF":
            return False
        (length,) = struct.unpack("<I", head[4:8])
        at += 8 + length + length % 2
    return at == size


_CHECKS = {
    "video/mp4": _iso,
    "video/quicktime": _iso,
    "video/x-matroska": _matroska,
    "video/webm": _matroska,
    "video/x-msvideo": _riff,
}
