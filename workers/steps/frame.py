"""Frame: render a whole frame, composited and saved in place, as Blender itself does it.

Its files are looked at as files: there, plain, whole. Its values are not: what Blender writes for a whole
frame is the reference itself, a black frame may be meant and has no neighbours that tell otherwise, and
most outputs cannot hold what is no number. To look would be to decode all of it a second time.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from farm.domain.work import Cause, Result, Role
from workers.attempt import OURS, Attempt
from workers.devices import render_class
from workers.failures import AttemptFailed
from workers.harvest import Harvested
from workers.pictures import EXR, JPEG, check_exr, check_picture, media_type
from workers.protocol import Done, RenderFrame
from workers.steps.blender import PREVIEW_WIDTH, RAW_PREVIEW, shrunk, warm

OUT = "out"
PASSES = "passes.exr"

#: A file to store: role, name, path, media type.
ToStore = tuple[Role, str, Path, str]


async def frame(attempt: Attempt) -> Result:
    """The frame's outputs, its preview and, where asked for, its passes."""
    child = await warm(attempt)
    (attempt.work / OUT).mkdir()
    keep_exr = attempt.order.settings.keep_exr
    attempt.phase("syncing")
    done = await child.ask(
        RenderFrame(
            look=attempt.look(),
            out_dir=str(attempt.work / OUT),
            preview=str(attempt.work / RAW_PREVIEW),
            exr=str(attempt.work / PASSES) if keep_exr else None,
        ),
        attempt.count,
    )
    attempt.heed(done)
    attempt.check_device(done)
    with attempt.timed("save"):
        files = await outputs(attempt, done)
        files.append(await preview(attempt))
        if keep_exr:
            [passes] = await attempt.take("", [PASSES])
            files.append(await kept_exr(attempt, passes, [name for _, name, _, _ in files]))
    return attempt.result(await attempt.store(files), render_class(attempt.device, child.ready))


async def outputs(attempt: Attempt, done: Done) -> list[ToStore]:
    """What Blender wrote for the artist, checked; at least one file."""
    if not done.outputs:
        raise AttemptFailed(
            Cause.BAD_RESULT,
            f"Blender finished frame {attempt.frame} but wrote no picture.",
            "See whether the scene's output settings and its compositor write a file.",
        )
    found: list[ToStore] = []
    for taken in await attempt.take(OUT, done.outputs):
        if taken.name.split("/")[0] == OURS:
            raise AttemptFailed(
                Cause.BAD_RESULT,
                f"The scene writes to “{taken.name}”; the folder {OURS} is the farm's own.",
                "Choose another output path.",
            )
        await asyncio.to_thread(check_picture, taken.path, taken.name)
        found.append((Role.OUTPUT, taken.name, taken.path, media_type(taken.name)))
    return found


async def preview(attempt: Attempt) -> ToStore:
    """The frame's preview, at most 1920 pixels wide."""
    name = await shrunk(attempt, attempt.picture_size, PREVIEW_WIDTH)
    [taken] = await attempt.take("", [name])
    check_picture(taken.path, name)
    return (Role.PREVIEW, f"{OURS}/preview.jpg", taken.path, JPEG)


async def kept_exr(attempt: Attempt, exr: Harvested, taken_names: list[str]) -> ToStore:
    """All passes of the frame, under a name that none of its outputs has."""
    await asyncio.to_thread(check_exr, exr.path, f"The passes of frame {attempt.frame}", attempt.picture_size)
    name = f"exr/{attempt.frame:04d}.exr"
    while name in taken_names:
        name = name.removesuffix(".exr") + "_passes.exr"
    return (Role.EXR, name, exr.path, EXR)
