"""The pieces of a frame as its finish needs them: all there, of one class, and fetched."""

from __future__ import annotations

import asyncio

from farm.domain.errors import NotFound
from farm.domain.work import Cause, PieceRef, RenderClass
from farm.storage import Damaged
from workers.attempt import Attempt
from workers.failures import AttemptFailed
from workers.patiently import together
from workers.protocol import PieceFile
from workers.steps.tile import range_words

_AT_ONCE = 4  # downloads
_AGAIN = "Nothing needs to be done."


def check_pieces(attempt: Attempt) -> RenderClass:
    """The one render class of the pieces; raises `AttemptFailed` unless they are all there, once each."""
    pieces, plan = attempt.order.pieces, attempt.plan
    numbers = sorted(piece.tile for piece in pieces)
    cover = plan.cover(numbers)
    if cover is None or sorted(cover) != numbers:
        wanted = f"the pieces 1 to {plan.pieces_per_frame}, once each"
        if plan.recuts:
            wanted = "pieces with each of its pixels in one of them"
        raise AttemptFailed(
            Cause.BAD_RESULT,
            f"Frame {attempt.frame} needs {wanted}; "
            f"there are {', '.join(str(piece.tile + 1) for piece in pieces) or 'none'}.",
            "This is a fault of the farm; cancel the job and submit it again.",
        )
    classes = sorted({piece.render_class for piece in pieces}, key=str)
    if len(classes) > 1:
        raise AttemptFailed(
            Cause.WRONG_CLASS,
            f"The pieces of frame {attempt.frame} come from different render classes "
            f"({'; '.join(map(str, classes))}) and would not fit together exactly.",
            "Render the frame again on workers of one class.",
        )
    return classes[0]


async def fetched(attempt: Attempt, refs: list[PieceRef]) -> list[PieceFile]:
    """Download the pieces, verified, for the imaging process to read.

    Raises `AttemptFailed` with all of those that storage no longer has as they were.
    """
    folder = attempt.inputs / "pieces"
    folder.mkdir()
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(piece: PieceRef) -> PieceFile | None:
        path = folder / f"{piece.tile:05d}.exr"
        async with slots:
            try:
                await attempt.fetched(lambda: attempt.storage.get_file(piece.key, path, piece.blob))
            except (NotFound, Damaged):
                return None
        cut = attempt.plan.piece(piece.tile)
        core, rendered = cut.tile.core, cut.tile.rendered
        return PieceFile(
            path=str(path),
            rendered=[rendered.x, rendered.y, rendered.width, rendered.height],
            core=[core.x, core.y, core.width, core.height],
            samples=range_words(cut.samples),
            sure=piece.renders > 1,
        )

    fetched = await together(map(one, refs))
    gone = [ref.tile for ref, file in zip(refs, fetched, strict=True) if file is None]
    if gone:
        raise AttemptFailed(
            Cause.BAD_RESULT,
            f"{_named(gone, attempt.plan.pieces)} {'is' if len(gone) == 1 else 'are'} gone from storage, "
            f"or damaged there. {_rendered_again(gone)}",
            _AGAIN,
            gone,
        )
    return [file for file in fetched if file is not None]


def suspected(pieces: list[int], of: int) -> AttemptFailed:
    one = len(pieces) == 1
    return AttemptFailed(
        Cause.BAD_RESULT,
        f"{_named(pieces, of)} {'is' if one else 'are'} black and transparent throughout, though "
        f"{'its' if one else 'their'} neighbours are not at their common edge. "
        f"{_rendered_again(pieces, ' to be sure')}",
        _AGAIN,
        pieces,
    )


def _rendered_again(pieces: list[int], why: str = "") -> str:
    return f"{'It is' if len(pieces) == 1 else 'They are'} rendered again{why}."


def _named(pieces: list[int], of: int, most: int = 10) -> str:
    """``Piece 3 of 4``, ``Pieces 1, 3 of 4``."""
    listed = ", ".join(str(piece + 1) for piece in pieces[:most])
    more = f" and {len(pieces) - most} more" if len(pieces) > most else ""
    return f"Piece{'' if len(pieces) == 1 else 's'} {listed}{more} of {of}"


def numbered(refs: list[PieceRef], places: object) -> list[int]:
    """The pieces at ``places`` of what a child was given; it may say anything, and only these count."""
    if not isinstance(places, (list, tuple)):
        return []
    known = {place for place in places if isinstance(place, int) and not isinstance(place, bool)}
    return [ref.tile for place, ref in enumerate(refs) if place in known]
