"""Tile: render a piece of a frame, a tile or a range of its samples: every pass, 32-bit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from farm.domain.plan import Cut, SampleRange
from farm.domain.work import Result, Role
from workers.attempt import OURS, Attempt
from workers.devices import render_class
from workers.pictures import EXR, JPEG, check_exr, check_picture
from workers.protocol import CheckPiece, RenderTile
from workers.steps.blender import PREVIEW_WIDTH, RAW_PREVIEW, shrunk, warm

PIECE = "piece.exr"
#: Passes of a scene that its pieces may lack: they are not denoised, and all noisy; and on a GPU, Cycles does
#: not tell how long a pixel took.
_NOT_OF_PIECES = frozenset({"Noisy Image", "Noisy Shadow Catcher", "Render Time"})


async def tile(attempt: Attempt) -> Result:
    """The piece, exactly as many pixels as the plan says, and a preview of what of it counts."""
    key, plan = attempt.key, attempt.plan
    cut = plan.piece(key.tile if key.tile is not None else 0)
    child = await warm(attempt)
    rendered = cut.tile.rendered
    border = rendered.border(plan.size)
    attempt.phase("syncing")
    done = await child.ask(
        RenderTile(
            look=attempt.look(),
            border=[border.min_x, border.max_x, border.min_y, border.max_y],
            width=rendered.width,
            height=rendered.height,
            exr=str(attempt.work / PIECE),
            preview=str(attempt.work / RAW_PREVIEW),
            samples=range_words(cut.samples),
        ),
        attempt.count,
    )
    attempt.heed(done)
    attempt.check_device(done)
    with attempt.timed("save"):
        [piece] = await attempt.take("", [PIECE])
        await _check(attempt, piece.path, cut)
        preview = await _preview(attempt, cut)
    stored = await attempt.store(
        [
            (Role.PIECE, f"{OURS}/{PIECE}", piece.path, EXR),
            (Role.PREVIEW, f"{OURS}/preview.jpg", preview, JPEG),
        ]
    )
    return attempt.result(stored, render_class(attempt.device, child.ready))


def range_words(samples: SampleRange | None) -> list[int] | None:
    """A sample range as children hear it."""
    return None if samples is None else [samples.first, samples.count, samples.total, samples.seed]


async def _check(attempt: Attempt, piece: Path, cut: Cut) -> None:
    """Raise `AttemptFailed` (bad-result) for a piece that is no picture, or lacks a pass of the scene.

    What is checked are the very bytes that will be stored: out of Blender's reach, in the imaging process.
    """
    size = cut.tile.rendered.size
    await asyncio.to_thread(check_exr, piece, f"The piece of {attempt.key.words}", size)
    shown = attempt.inputs / PIECE
    shown.hardlink_to(piece)
    report = attempt.order.report
    passes = [
        f"{layer.name}.{name}"
        for layer in (report.layers if report is not None else ())
        for name in layer.passes
        if name not in _NOT_OF_PIECES
    ]
    imaging = await attempt.imaging()
    await imaging.ask(CheckPiece(str(shown), size.width, size.height, passes), attempt.count)


async def _preview(attempt: Attempt, cut: Cut) -> Path:
    """The preview of what counts of the piece: of a sample range, all of the area.

    Those of a frame's tiles lie beside each other on the page: they show the core alone, and shrink by
    one factor.
    """
    core, rendered = cut.tile.core, cut.tile.rendered
    box = replace(core, x=core.x - rendered.x, y=core.y - rendered.y)
    share = min(1.0, PREVIEW_WIDTH / attempt.plan.width)
    name = await shrunk(attempt, rendered.size, max(1, round(core.width * share)), box)
    [taken] = await attempt.take("", [name])
    check_picture(taken.path, name)
    return taken.path
