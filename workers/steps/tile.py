"""Tile: render a piece of a frame, every pass, 32-bit."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from farm.domain.work import Result, Role
from workers.attempt import OURS, Attempt
from workers.devices import render_class
from workers.pictures import EXR, JPEG, check_exr, check_picture
from workers.protocol import RenderTile
from workers.steps.blender import PREVIEW_WIDTH, RAW_PREVIEW, shrunk, warm

PIECE = "piece.exr"


async def tile(attempt: Attempt) -> Result:
    """The piece, exactly as many pixels as the plan says, and a preview of what of it counts."""
    key, plan = attempt.key, attempt.plan
    cut = plan.piece(key.tile if key.tile is not None else 0).tile
    child = await warm(attempt)
    size, border = cut.rendered.size, cut.rendered.border(plan.size)
    attempt.phase("syncing")
    done = await child.ask(
        RenderTile(
            look=attempt.look(),
            border=[border.min_x, border.max_x, border.min_y, border.max_y],
            width=size.width,
            height=size.height,
            exr=str(attempt.work / PIECE),
            preview=str(attempt.work / RAW_PREVIEW),
        ),
        attempt.count,
    )
    attempt.heed(done)
    attempt.check_device(done)
    [piece] = await attempt.take("", [PIECE])
    await asyncio.to_thread(check_exr, piece.path, f"The piece of {key.words}", size)
    # The previews of a frame's tiles lie beside each other on the page: they show the core alone, and
    # shrink by one factor.
    core = replace(cut.core, x=cut.core.x - cut.rendered.x, y=cut.core.y - cut.rendered.y)
    share = min(1.0, PREVIEW_WIDTH / plan.width)
    name = await shrunk(attempt, size, max(1, round(core.width * share)), core)
    [preview] = await attempt.take("", [name])
    check_picture(preview.path, name)
    stored = await attempt.store(
        [
            (Role.PIECE, f"{OURS}/{PIECE}", piece.path, EXR),
            (Role.PREVIEW, f"{OURS}/preview.jpg", preview.path, JPEG),
        ]
    )
    return attempt.result(stored, render_class(attempt.device, child.ready))
