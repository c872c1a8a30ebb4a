"""Whether a file can be the picture that its name says, and the media type to serve it with."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from farm.domain.tiles import Size
from farm.domain.work import Cause
from workers.exr_header import NotExr, Part, read_parts
from workers.failures import AttemptFailed

EXR = "image/x-exr"
JPEG = "image/jpeg"
TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"

_MEDIA_TYPES = {
    ".png": "image/png",
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
    ".json": "application/json",
    ".txt": TEXT,
}
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
    elif kind == "image/png" and not _frames(path, b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82", 0):
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
