"""Merge: the pieces of a frame become one multilayer EXR, every part and channel, bit for bit.

At most one whole frame and one piece are in memory. Boxes and headers of all pieces are checked before
a pixel is read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workers.child import Link, Refusal
from workers.imaging.boxes import check_boxes
from workers.imaging.exr import Array, Part, Picture, Unreadable, inspect_exr, read_pixels, write_exr
from workers.imaging.files import plain_file, replacing
from workers.imaging.metadata import Disagreement, merged_header
from workers.protocol import Count, Done, MergeFrame, PieceFile

_AGAIN = "Render it again."


def merge_frame(request: MergeFrame, link: Link) -> Done:
    """Answer `MergeFrame`: `outputs` is the file's name, `seconds` has load and save.

    Raises `Refusal` (bad-result) for pieces that do not make the frame, OSError, MemoryError.
    """
    started = time.monotonic()
    check_boxes(request.pieces, request.width, request.height)
    paths = [plain_file(piece.path, _name(i, request)) for i, piece in enumerate(request.pieces)]
    pictures = [_inspected(path, i, request) for i, path in enumerate(paths)]
    headers = _headers(pictures)

    frame: list[dict[str, Array]] = []
    black: list[str] = []
    for index, (piece, path, picture) in enumerate(zip(request.pieces, paths, pictures, strict=True)):
        name = _name(index, request)
        pixels = _cropped(piece, path, picture, name)
        if not frame:
            frame = [_empty_like(part, request.width, request.height) for part in pixels]
        _check_types(frame, pixels, name)
        _check_finite(picture.parts, pixels, name)
        if _is_black(picture.parts, pixels):
            black.append(name)
        _place(frame, pixels, piece.core)
        del pixels  # before the next piece is read
        link.send(Count("merging", index + 1, len(request.pieces)))
    loaded = time.monotonic()

    with replacing(request.out) as file:
        write_exr(file, list(zip(pictures[0].parts, headers, frame, strict=True)))
    return Done(
        outputs=[Path(request.out).name],
        seconds={"load": loaded - started, "save": time.monotonic() - loaded},
        notes=_notes(black, len(request.pieces)),
    )


def _name(index: int, request: MergeFrame) -> str:
    return f"Piece {index + 1} of {len(request.pieces)}"


def _inspected(path: Path, index: int, request: MergeFrame) -> Picture:
    name = _name(index, request)
    try:
        picture = inspect_exr(path)
    except Unreadable as reason:
        raise Refusal("bad-result", f"{name} cannot be read: {reason}.", _AGAIN) from reason
    width, height = request.pieces[index].rendered[2:]
    if (picture.width, picture.height) != (width, height):
        raise Refusal(
            "bad-result",
            f"{name} is {picture.width}×{picture.height} pixels and should be {width}×{height}.",
            _AGAIN,
        )
    return picture


def _headers(pictures: Sequence[Picture]) -> list[dict[str, object]]:
    """The merged header of each part; raises `Refusal` where the pieces are not of one frame."""
    first = pictures[0]
    for index, picture in enumerate(pictures[1:], start=2):
        difference = _difference(first.parts, picture.parts)
        if difference:
            raise Refusal(
                "bad-result", f"Pieces 1 and {index} of {len(pictures)} do not belong together: {difference}."
            )
    try:
        return [
            merged_header([p.header for p in parts])
            for parts in zip(*(p.parts for p in pictures), strict=True)
        ]
    except Disagreement as reason:
        raise Refusal("bad-result", f"The pieces do not belong together: {reason}.") from reason


def _difference(one: Sequence[Part], other: Sequence[Part]) -> str:
    names, others = [part.name for part in one], [part.name for part in other]
    for name in dict.fromkeys([*names, *others]):
        if (name in names) != (name in others):
            return f"only one of them has “{name}”"
    if names != others:
        return "their passes come in another order"
    for a, b in zip(one, other, strict=True):
        if a.channels != b.channels:
            return f"the channels of “{a.name}” differ"
    return ""


def _cropped(piece: PieceFile, path: Path, picture: Picture, name: str) -> list[dict[str, Array]]:
    """The piece's pixels inside of its core, as views."""
    try:
        read = read_pixels(path, picture)
    except Unreadable as reason:
        raise Refusal("bad-result", f"{name} cannot be read: {reason}.", _AGAIN) from reason
    x, y = piece.core[0] - piece.rendered[0], piece.core[1] - piece.rendered[1]
    width, height = piece.core[2:]
    return [{key: array[y : y + height, x : x + width] for key, array in part.items()} for part in read]


def _empty_like(part: dict[str, Array], width: int, height: int) -> dict[str, Array]:
    return {name: np.empty((height, width), array.dtype) for name, array in part.items()}


def _check_types(frame: Sequence[dict[str, Array]], pixels: Sequence[dict[str, Array]], name: str) -> None:
    for whole, part in zip(frame, pixels, strict=True):
        for channel, array in part.items():
            if array.dtype != whole[channel].dtype:
                raise Refusal(
                    "bad-result",
                    f"{name} stores “{channel}” as {array.dtype} and the pieces before it "
                    f"as {whole[channel].dtype}.",
                    _AGAIN,
                )


def _combined(parts: Sequence[Part], pixels: Sequence[dict[str, Array]]) -> list[tuple[str, list[Array]]]:
    """The Combined passes: what they are called, and their channels.

    Data passes are not looked at: Depth is 1e10 where nothing was hit, and may be infinite.
    """
    found: dict[str, list[Array]] = {}
    for part, arrays in zip(parts, pixels, strict=True):
        view = part.header.get("view")
        for channel, array in arrays.items():
            name = channel.rpartition(".")[0].removesuffix(f".{view}")
            if name == "Combined" or name.endswith(".Combined"):
                found.setdefault(f"{name} ({view})" if view else name, []).append(array)
    return list(found.items())


def _check_finite(parts: Sequence[Part], pixels: Sequence[dict[str, Array]], name: str) -> None:
    for title, arrays in _combined(parts, pixels):
        wrong = np.zeros(arrays[0].shape, bool)
        for array in arrays:
            wrong |= ~np.isfinite(array)
        count = int(np.count_nonzero(wrong))
        if count:
            raise Refusal(
                "bad-result",
                f"{name} has {count} pixel{'s' if count > 1 else ''} without a finite value in “{title}”.",
                "Look in the scene for a material, a light or a texture with values that overflow.",
            )


def _is_black(parts: Sequence[Part], pixels: Sequence[dict[str, Array]]) -> bool:
    """Whether there is a Combined pass, and nothing in it: no light and no alpha."""
    combined = _combined(parts, pixels)
    return bool(combined) and not any(array.any() for _, arrays in combined for array in arrays)


def _notes(black: Sequence[str], pieces: int) -> list[str]:
    if len(black) == pieces:
        return []  # the whole frame is black: then it may well be meant
    return [f"{name} is completely black and transparent." for name in black]


def _place(
    frame: Sequence[dict[str, Array]], pixels: Sequence[dict[str, Array]], core: Sequence[int]
) -> None:
    x, y, width, height = core
    for whole, part in zip(frame, pixels, strict=True):
        for channel, array in part.items():
            whole[channel][y : y + height, x : x + width] = array
