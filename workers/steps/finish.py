"""Finish: merge a frame's pieces, then let the scene's own compositor and output run once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from farm.domain.work import Cause, PieceRef, RenderClass, Result
from workers.attempt import Attempt
from workers.devices import device_for
from workers.failures import AttemptFailed
from workers.patiently import patiently, together
from workers.protocol import FinishFrame, MergeFrame, PieceFile
from workers.steps.blender import RAW_PREVIEW
from workers.steps.frame import OUT, kept_exr, outputs, preview

MERGED = "merged.exr"
_AT_ONCE = 4  # downloads


async def finish(attempt: Attempt) -> Result:
    """The frame's outputs and preview, from its pieces; the merged passes too where asked for."""
    settled = check_pieces(attempt)
    (attempt.work / OUT).mkdir()
    attempt.phase("fetching")
    with attempt.timed("fetch"):
        await attempt.session.lay_out()
    opening = asyncio.create_task(attempt.session.fresh(attempt.log))  # takes as long as the merge
    try:
        merged = await _merge(attempt)
    except BaseException:
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        raise
    attempt.phase("loading")
    with attempt.timed("load"):
        child = await opening
    try:
        device_for(attempt.order, attempt.session.ground.config, child.ready)
        attempt.phase("finishing")
        done = await child.ask(
            FinishFrame(
                look=attempt.look(),
                merged=str(merged),
                out_dir=str(attempt.work / OUT),
                preview=str(attempt.work / RAW_PREVIEW),
            ),
            attempt.count,
        )
    finally:
        await attempt.session.release(child)
    attempt.heed(done)
    files = await outputs(attempt, done)
    files.append(await preview(attempt))
    if attempt.order.settings.keep_exr:
        [passes] = await attempt.take("", [MERGED])
        files.append(await kept_exr(attempt, passes, [name for _, name, _, _ in files]))
    return attempt.result(await attempt.store(files), settled)


def check_pieces(attempt: Attempt) -> RenderClass:
    """The one render class of the pieces; raises `AttemptFailed` unless they are all there, once each."""
    pieces, wanted = attempt.order.pieces, attempt.plan.pieces_per_frame
    if wanted == 0 or sorted(piece.tile for piece in pieces) != list(range(wanted)):
        raise AttemptFailed(
            Cause.BAD_RESULT,
            f"Frame {attempt.frame} needs the pieces 1 to {wanted}, once each; "
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


async def _merge(attempt: Attempt) -> Path:
    """Fetch the pieces and put them together; the merged frame's path."""
    with attempt.timed("fetch"):
        pieces = await _fetch(attempt)
    attempt.phase("merging")
    plan, merged = attempt.plan, attempt.work / MERGED
    imaging = await attempt.session.imaging(attempt.log)
    with attempt.timed("save"):
        done = await imaging.ask(
            MergeFrame(pieces=pieces, width=plan.width, height=plan.height, out=str(merged)), attempt.count
        )
    attempt.heed(replace(done, seconds={}))  # timed here, its start included
    return merged


async def _fetch(attempt: Attempt) -> list[PieceFile]:
    """Download the pieces, verified, for the imaging process to read."""
    folder = attempt.inputs / "pieces"
    folder.mkdir()
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(piece: PieceRef) -> PieceFile:
        path = folder / f"{piece.tile:05d}.exr"
        async with slots:
            await patiently(lambda: attempt.storage.get_file(piece.key, path, piece.blob))
        cut = attempt.plan.piece(piece.tile).tile
        core, rendered = cut.core, cut.rendered
        return PieceFile(
            path=str(path),
            rendered=[rendered.x, rendered.y, rendered.width, rendered.height],
            core=[core.x, core.y, core.width, core.height],
        )

    return await together(map(one, sorted(attempt.order.pieces, key=lambda piece: piece.tile)))
