"""What the steps that use Blender have in common."""

from __future__ import annotations

from farm.domain.tiles import Box, Size
from workers.attempt import Attempt
from workers.children import Child
from workers.devices import device_for
from workers.protocol import Shrink

PREVIEW_WIDTH = 1920  # pixels, at most
RAW_PREVIEW = "preview.jpg"
SMALL_PREVIEW = "preview-small.jpg"


async def warm(attempt: Attempt) -> Child:
    """The session's render process with the scene open, allowed to do this order.

    Fetching and loading are told and timed. Raises `AttemptFailed`.
    """
    session = attempt.session
    attempt.phase("fetching")
    with attempt.timed("fetch"):
        await session.lay_out()
    attempt.phase("loading")
    child = await session.render(attempt.log, attempt.playhead)
    attempt.spent["load"] = attempt.spent.get("load", 0.0) + session.load_seconds
    attempt.device = device_for(attempt.order, session.ground.config, child.ready)
    return child


async def shrunk(attempt: Attempt, size: Size, width: int, box: Box | None = None) -> str:
    """The name, in `attempt.work`, of the preview at most ``width`` pixels wide; of ``box`` alone, if given.

    The render process writes it with all ``size`` pixels of the picture; where that is what is wanted,
    there is nothing to do, and no imaging process to start.
    """
    whole = Box(0, 0, size.width, size.height)
    wanted = box or whole
    if wanted == whole and size.width <= width:
        return RAW_PREVIEW
    imaging = await attempt.imaging()
    await imaging.ask(
        Shrink(
            source=str(attempt.work / RAW_PREVIEW),
            out=str(attempt.work / SMALL_PREVIEW),
            width=width,
            box=None if wanted == whole else [wanted.x, wanted.y, wanted.width, wanted.height],
        )
    )
    return SMALL_PREVIEW
