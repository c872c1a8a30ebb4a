"""The pieces of a frame as files: opened, and found to belong together, before a pixel is decoded."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from workers.child import Refusal
from workers.imaging.exr import Array, Part, PartReader, Unreadable
from workers.imaging.files import plain_file
from workers.imaging.metadata import Disagreement, merged_header, minority
from workers.protocol import PieceFile

AGAIN = "Render it again."


@dataclass(frozen=True)
class Piece:
    """One piece's file. ``number`` counts from 0, ``name`` is for people."""

    number: int
    name: str
    file: PieceFile
    reader: PartReader

    @property
    def parts(self) -> Sequence[Part]:
        """The parts of its file."""
        return self.reader.picture.parts

    def pixels(self, part: int, top: int = 0, bottom: int | None = None) -> dict[str, Array]:
        """Lines of a part, inside of the piece's core, by channel; raises `Refusal`."""
        x, y = self.file.core[0] - self.file.rendered[0], self.file.core[1] - self.file.rendered[1]
        width, height = self.file.core[2:]
        try:
            read = self.reader.pixels(part, y + top, y + (height if bottom is None else bottom))
        except Unreadable as reason:
            raise self.refusal(f"cannot be read: {reason}") from reason
        return {channel: array[:, x : x + width] for channel, array in read.items()}

    def refusal(self, fault: str, cure: str = AGAIN) -> Refusal:
        """What is wrong with this piece, which is to blame."""
        return Refusal("bad-result", f"{self.name} {fault}.", cure, [self.number])


def opened(files: Sequence[PieceFile]) -> list[Piece]:
    """The pieces, each of the size it should have; raises `Refusal` naming the one that is not."""
    return [_opened(number, file, len(files)) for number, file in enumerate(files)]


def _opened(number: int, file: PieceFile, of: int) -> Piece:
    name = f"Piece {number + 1} of {of}"
    try:
        piece = Piece(number, name, file, PartReader(plain_file(file.path, name)))
    except Refusal as refusal:
        raise Refusal(refusal.cause, refusal.what, refusal.cure, [number]) from refusal
    except Unreadable as reason:
        raise Refusal("bad-result", f"{name} cannot be read: {reason}.", AGAIN, [number]) from reason
    picture, (width, height) = piece.reader.picture, file.rendered[2:]
    if (picture.width, picture.height) != (width, height):
        raise piece.refusal(f"is {picture.width}×{picture.height} pixels and should be {width}×{height}")
    return piece


def headers_of(pieces: Sequence[Piece]) -> list[dict[str, Any]]:
    """The merged header of each part; raises `Refusal` where the pieces are not of one frame.

    It names the pieces that say something else than most do, and none where there is no majority.
    """
    shapes = [tuple((part.name, part.channels) for part in piece.parts) for piece in pieces]
    if len(set(shapes)) > 1:
        odd = minority(shapes)
        norm = next(n for n in range(len(pieces)) if n not in odd)
        other = next(n for n, shape in enumerate(shapes) if shape != shapes[norm])
        one, two = sorted((norm, other))
        raise Refusal(
            "bad-result",
            f"Pieces {one + 1} and {two + 1} of {len(pieces)} do not belong together: "
            f"{_difference(pieces[one].parts, pieces[two].parts)}.",
            pieces=odd,
        )
    pictures: list[Hashable] = [tuple((piece.file.samples or [])[2:]) for piece in pieces]
    try:
        return [
            merged_header([part.header for part in parts], pictures)
            for parts in zip(*(piece.parts for piece in pieces), strict=True)
        ]
    except Disagreement as reason:
        raise Refusal(
            "bad-result", f"The pieces do not belong together: {reason}.", pieces=reason.odd
        ) from reason


def _difference(one: Sequence[Part], other: Sequence[Part]) -> str:
    names, others = [part.name for part in one], [part.name for part in other]
    for name in dict.fromkeys([*names, *others]):
        if (name in names) != (name in others):
            return f"only one of them has “{name}”"
    if names != others:
        return "their passes come in another order"
    for a, b in zip(one, other, strict=True):
        for left, right in zip(a.channels, b.channels, strict=False):
            if left.name == right.name and left.dtype != right.dtype:
                return f"“{left.name}” is {left.dtype} in one of them and {right.dtype} in the other"
        if a.channels != b.channels:
            return f"the channels of “{a.name}” differ"
    return "their parts differ"
