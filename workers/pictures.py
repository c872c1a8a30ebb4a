"""Whether a file can be the picture that its name says, and the media type to serve it with."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from farm.domain.tiles import Size
from farm.domain.work import Cause
from workers.exr_header import NotExr, Part, read_parts
from workers.failures import AttemptFailed

EXR = "image/x-exr"
JPEG = "image/jpeg"
PNG = "image/png"
TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"

_MEDIA_TYPES = {
    ".png": PNG,
    ".jpg": JPEG,
    ".jpeg": JPEG,
    ".exr": EXR,
    ".hdr": "image/vnd.radiance",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".tga": "image/x-tga",
    ".jp2": "image/jp2",
    ".j2c": "image/jp2",
    ".dpx": "image/x-dpx",
    ".cin": "image/x-cineon",
    ".rgb": "image/x-sgi",
    ".mp4": "video/mp4",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".mov": "video/quicktime",
    ".avi": "video/x-msvideo",
    ".ogv": "video/ogg",
    ".mpg": "video/mpeg",
    ".dvd": "video/mpeg",
    ".dv": "video/x-dv",
    ".flv": "video/x-flv",
    ".json": "application/json",
    ".txt": TEXT,
}
_PNG_START = b"\x89PNG\r\n\x1a\n"
#: Markers that begin a JPEG's frame, whose head has its size: all of 0xC0 to 0xCF but three others.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MOST_SEGMENTS = 1000
_CURE = "The log may say why. If the disk is full or slow, the next try goes better."


def media_type(name: str) -> str:
    """By the ending of ``name``; never one that a browser would run as a program."""
    return _MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), BINARY)


def check_picture(path: Path, name: str) -> None:
    """Raise `AttemptFailed` (bad-result) for an empty file, and for PNG, JPEG and EXR that are not."""
    if path.stat().st_size == 0:
        raise AttemptFailed(Cause.BAD_RESULT, f"Blender wrote an empty file, “{name}”.", _CURE)
    kind = media_type(name)
    if kind == EXR:
        _parts(path, name)
    elif kind == PNG and not _frames(path, _PNG_START, b"IEND\xaeB`\x82", 0):
        raise _damaged(name, "PNG")
    elif kind == JPEG and not _frames(path, b"\xff\xd8\xff", b"\xff\xd9", 64):
        raise _damaged(name, "JPEG")


def check_exr(path: Path, what: str, size: Size) -> None:
    """Raise `AttemptFailed` (bad-result) where an EXR is not whole, or a part has not ``size``."""
    for part in _parts(path, what):
        if (part.width, part.height) != (size.width, size.height):
            raise AttemptFailed(
                Cause.BAD_RESULT,
                f"{what} has {Size(part.width, part.height)} pixels, not {size}.",
                "This is a fault of the farm; please report it with the scene.",
            )


def kind_of(path: Path) -> str:
    """The media type of a PNG, JPEG or EXR file by how it starts, whatever it is called; else `BINARY`."""
    with path.open("rb") as file:
        start = file.read(8)
    if start == _PNG_START:
        return PNG
    if start.startswith(b"\xff\xd8\xff"):
        return JPEG
    return EXR if start.startswith(b"\x76\x2f\x31\x01") else BINARY


def size_of(path: Path, name: str) -> Size:
    """Pixels of a PNG, JPEG or EXR picture, by what its head says.

    Raises `AttemptFailed` (bad-result) for a file that is none of them, or is not whole.
    """
    kind = kind_of(path)
    if kind == EXR:
        part = _parts(path, name)[0]
        return Size(part.width, part.height)
    if kind == PNG and _frames(path, _PNG_START, b"IEND\xaeB`\x82", 0):
        with path.open("rb") as file:
            head = file.read(24)
        return Size(int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big"))
    if kind == JPEG and _frames(path, b"\xff\xd8\xff", b"\xff\xd9", 64) and (size := _jpeg_size(path)):
        return size
    raise AttemptFailed(Cause.BAD_RESULT, f"“{name}” is not a whole picture.", _CURE)


def _jpeg_size(path: Path) -> Size | None:
    """What the first frame's head says; None where the segments before it lead nowhere."""
    with path.open("rb") as file:
        file.seek(2)
        for _ in range(_MOST_SEGMENTS):
            head = file.read(9)
            if len(head) < 9 or head[0] != 0xFF:
                return None
            if head[1] in _JPEG_FRAMES:
                return Size(int.from_bytes(head[7:9], "big"), int.from_bytes(head[5:7], "big"))
            file.seek(int.from_bytes(head[2:4], "big") - 7, 1)
    return None


def _parts(path: Path, name: str) -> list[Part]:
    try:
        return read_parts(path)
    except NotExr as error:
        raise AttemptFailed(Cause.BAD_RESULT, f"“{name}” is not a whole EXR file: {error}.", _CURE) from None


def _frames(path: Path, start: bytes, end: bytes, slack: int) -> bool:
    """Whether the file starts with ``start`` and has ``end`` at its end, give or take ``slack`` bytes."""
    with path.open("rb") as file:
        if file.read(len(start)) != start:
            return False
        file.seek(max(0, path.stat().st_size - len(end) - slack))
        return end in file.read()


def _damaged(name: str, kind: str) -> AttemptFailed:
    return AttemptFailed(Cause.BAD_RESULT, f"“{name}” is not a whole {kind} file.", _CURE)
