"""Finish: merge a frame's pieces, then let the scene's own compositor and output run once.

Disk: for a moment the pieces and the merged frame, then the merged frame and what Blender saves of it. A
frame of 8K (7680×4320) with 40 channels is 5.3 GB before compression, so that 11 GB of scratch are enough
for it: pieces go once they are merged, the merged frame goes once it is finished. One of several views lies
there twice while it is finished (`workers.inside_blender.views`).
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

from farm.domain.work import Cause, Result
from workers import scene_folder
from workers.attempt import Attempt
from workers.devices import device_for
from workers.failures import AttemptFailed
from workers.protocol import FinishFrame, MergeFrame
from workers.steps.blender import RAW_PREVIEW
from workers.steps.frame import OUT, PASSES, kept_exr, outputs, preview
from workers.steps.pieces import check_pieces, fetched, numbered, suspected

MERGED = "merged.exr"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST_PASSES = 10_000
_LONGEST_PASS = 1000  # characters of a pass's name, with those of its layer and view


async def finish(attempt: Attempt) -> Result:
    """The frame's outputs, preview and digests, from its pieces; its passes too where asked for.

    Raises `AttemptFailed` with `pieces` where it is pieces that are at fault.
    """
    settled = check_pieces(attempt)
    (attempt.work / OUT).mkdir()
    attempt.phase("fetching")
    with attempt.timed("fetch"):
        await attempt.session.lay_out()
    opening = asyncio.create_task(attempt.session.fresh(attempt.log))  # takes as long as the merge
    try:
        digests = await _merge(attempt)
    except BaseException:
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        raise
    attempt.phase("loading")
    with attempt.timed("load"):
        child = await opening
    keep_exr = attempt.order.settings.keep_exr
    try:
        device_for(attempt.order, attempt.session.ground.config, child.ready)
        attempt.phase("finishing")
        done = await child.ask(
            FinishFrame(
                look=replace(attempt.look(), play_from=None),  # what was simulated is in the pieces
                merged=str(attempt.work / MERGED),
                out_dir=str(attempt.work / OUT),
                preview=str(attempt.work / RAW_PREVIEW),
                exr=str(attempt.work / PASSES) if keep_exr else None,
            ),
            attempt.count,
        )
    except AttemptFailed as failed:
        raise AttemptFailed(failed.cause, failed.what, failed.cure) from failed  # it has seen no piece
    finally:
        await attempt.session.release(child)
    attempt.heed(done)
    await asyncio.to_thread((attempt.work / MERGED).unlink, missing_ok=True)
    with attempt.timed("save"):
        files = await outputs(attempt, done)
        files.append(await preview(attempt))
        if keep_exr:
            [passes] = await attempt.take("", [PASSES])
            files.append(await kept_exr(attempt, passes, [name for _, name, _, _ in files]))
    result = attempt.result(await attempt.store(files), settled)
    return result.model_copy(update={"digests": digests})


async def _merge(attempt: Attempt) -> dict[str, str]:
    """Fetch the pieces and put them together in `MERGED`; the digests of the frame's passes."""
    refs = sorted(attempt.order.pieces, key=lambda piece: piece.tile)
    with attempt.timed("fetch"):
        pieces = await fetched(attempt, refs)
    attempt.phase("merging")
    plan = attempt.plan
    imaging = await attempt.imaging()
    request = MergeFrame(
        pieces=pieces,
        width=plan.width,
        height=plan.height,
        out=str(attempt.work / MERGED),
        area=list(plan.region) if plan.region else None,
    )
    try:
        with attempt.timed("save"):
            done = await imaging.ask(request, attempt.count)
    except AttemptFailed as failed:
        raise AttemptFailed(failed.cause, failed.what, failed.cure, numbered(refs, failed.pieces)) from failed
    attempt.heed(replace(done, seconds={}))  # timed here, its start included
    report: dict[str, Any] = done.report or {}
    suspects = numbered(refs, report.get("suspects"))
    if suspects:
        raise suspected(suspects, plan.pieces)
    await asyncio.to_thread(scene_folder.remove, attempt.inputs / "pieces")
    return digests_of(report)


def digests_of(report: dict[str, Any]) -> dict[str, str]:
    """The digests of a merge; raises `AttemptFailed` (bad-result) for anything else."""
    found = report.get("digests")
    if not isinstance(found, dict) or len(found) > _MOST_PASSES or not all(map(_is_digest, found.items())):
        raise AttemptFailed(
            Cause.BAD_RESULT,
            "The imaging process's digests of the merged frame cannot be read.",
            "This is a fault of the farm; please report it with the scene.",
        )
    return {name.encode(errors="replace").decode(): digest for name, digest in found.items()}


def _is_digest(entry: tuple[object, object]) -> bool:
    name, digest = entry
    return (
        isinstance(name, str)
        and 0 < len(name) <= _LONGEST_PASS
        and isinstance(digest, str)
        and _SHA256.fullmatch(digest) is not None
    )
