"""Check: is a piece a picture at all? Decoded part by part, before it counts as a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workers.child import Link, Refusal
from workers.imaging.exr import Array, Part, PartReader, Unreadable
from workers.imaging.files import plain_file
from workers.imaging.passes import must_be_finite
from workers.protocol import CheckPiece, Count, Done

OVERFLOW = "Look in the scene for a material, a light or a texture with values that overflow."
_AGAIN = "Render it again."


def check_piece(request: CheckPiece, link: Link) -> Done:
    """Answer `CheckPiece`; raises `Refusal` (bad-result) for a piece that is no result, OSError.

    Values have to be finite in every pass but those of the geometry (`workers.imaging.passes`).
    """
    path = plain_file(request.path, "The piece")
    try:
        reader = PartReader(path)
        picture = reader.picture
        if (picture.width, picture.height) != (request.width, request.height):
            raise Refusal(
                "bad-result",
                f"The piece is {picture.width}×{picture.height} pixels and should be "
                f"{request.width}×{request.height}.",
                _AGAIN,
            )
        _check_passes(picture.parts, request.passes)
        for number, part in enumerate(picture.parts):
            _check_values(part, reader.pixels(number))
            link.send(Count("checking", number + 1, len(picture.parts)))
    except Unreadable as reason:
        raise Refusal("bad-result", f"The piece cannot be read: {reason}.", _AGAIN) from reason
    return Done()


def _check_passes(parts: Sequence[Part], wanted: Sequence[str]) -> None:
    views = {part.view: set[str]() for part in parts}
    for part in parts:
        views[part.view] |= part.passes.keys()
    for view, there in views.items():
        missing = ", ".join(f"“{name}”" for name in wanted if name not in there)
        if missing:
            where = f" in the view “{view}”" if view else ""
            raise Refusal("bad-result", f"The piece has no {missing}{where}.", _AGAIN)


def _check_values(part: Part, pixels: Mapping[str, Array]) -> None:
    for name, channels in part.passes.items():
        wrong = broken(pixels, channels) if must_be_finite(name) else 0
        if wrong:
            raise Refusal("bad-result", f"The piece {told(wrong, name, part.view)}.", OVERFLOW)


def broken(pixels: Mapping[str, Array], channels: Sequence[str]) -> int:
    """How many pixels have a value that is not finite in one of ``channels``."""
    wrong = ~np.isfinite(pixels[channels[0]])
    for channel in channels[1:]:
        wrong |= ~np.isfinite(pixels[channel])
    return int(np.count_nonzero(wrong))


def told(wrong: int, name: str, view: str) -> str:
    """The fault in words, to follow on what the piece is called."""
    title = f"{name} ({view})" if view else name
    return f"has {wrong} pixel{'s' if wrong > 1 else ''} without a finite value in “{title}”"
