"""Verify: render a finished frame whole in plain Blender, and compare it with what the farm made of it.

What may differ and still counts as the same is said in `workers.steps.comparing`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from farm.domain.errors import NotFound
from farm.domain.plan import Plan, SampleRange
from farm.domain.work import Cause, Claim, Proof, RenderClass, Result, StoredFile
from farm.storage import Damaged
from workers.attempt import Attempt
from workers.children import Child
from workers.devices import device_for, render_class
from workers.failures import AttemptFailed
from workers.patiently import together
from workers.protocol import Look, RenderReference
from workers.steps.comparing import OUT, PASSES, output_rows, pass_rows, reference_of, tolerance

_AT_ONCE = 4  # downloads
_CURE = "This is a fault of the farm; please report it with the scene."


async def verify(attempt: Attempt) -> Result:
    """The frame's `Proof`. Raises `AttemptFailed`, among others for a worker of another render class."""
    claim = _claim(attempt)
    first = _first_samples(claim.plan)
    attempt.phase("fetching")
    with attempt.timed("fetch"):
        await attempt.session.lay_out()
        there = await _fetched(attempt, [*claim.outputs, *filter(None, [claim.exr])])
    attempt.phase("loading")
    with attempt.timed("load"):
        child = await attempt.session.reference(attempt.log)
    try:
        here = _checked_class(attempt, child, claim)
        attempt.phase("rendering")
        look = _look(attempt, claim, first)
        done = await child.ask(
            RenderReference(
                look=look,
                out_dir=str(attempt.work / OUT),
                exr=str(attempt.work / PASSES),
                first=None if first is None else first.count,
            ),
            attempt.count,
        )
        attempt.heed(done)
        attempt.check_device(done)
        attempt.phase("comparing")
        reference = reference_of(done)
        rows = await pass_rows(attempt, claim, there, reference)
        rows += await output_rows(attempt, child, claim, there, reference)
    finally:
        await attempt.session.release(child)
    proof = Proof(
        frame=attempt.frame,
        render_class=here,
        rows=tuple(rows),
        seconds=attempt.spent.get("render", 0.0),
        tolerance=tolerance(claim),
    )
    return attempt.result((), here).model_copy(update={"proof": proof})


def _claim(attempt: Attempt) -> Claim:
    claim = attempt.order.claim
    if claim is None:
        raise AttemptFailed(
            Cause.INTERNAL, f"There is nothing to verify frame {attempt.frame} against.", _CURE
        )
    return claim


def _first_samples(plan: Plan) -> SampleRange | None:
    """What one Blender is to render where the frame has only the first of its samples; None: all of them."""
    if not plan.ranges:
        return None
    done, total = 0, plan.ranges[0].total
    for part in sorted(plan.ranges, key=lambda part: part.first):
        if part.seed or part.total != total or part.first != done:
            raise AttemptFailed(
                Cause.BAD_SCENE,
                "These frames average pictures of their own: no single render is the same.",
                "Verify a job that was given all of its samples from the start.",
            )
        done += part.count
    return None if done == total else SampleRange(first=0, count=done, total=total)


def _look(attempt: Attempt, claim: Claim, first: SampleRange | None) -> Look:
    """What to render: all frames before it are played where the frame depends on them."""
    look = attempt.look()
    if first is not None:
        look = replace(look, samples=first.total)
    if claim.plan.in_order and look.play_from is None:
        report = attempt.order.report
        start = report.frame_start if report else claim.plan.frame_range[0]
        look = replace(look, play_from=min(start, attempt.frame))
    return look


def _checked_class(attempt: Attempt, child: Child, claim: Claim) -> RenderClass:
    """The render class here, which has to be the frame's; sets the attempt's device."""
    attempt.device = device_for(attempt.order, attempt.session.ground.config, child.ready)
    here = render_class(attempt.device, child.ready)
    if here != claim.render_class:
        raise AttemptFailed(
            Cause.WRONG_CLASS,
            f"Frame {attempt.frame} was rendered with {claim.render_class}; this worker has {here}, "
            "which gives other bits.",
            "A worker of the frame's class has to verify it.",
        )
    return here


async def _fetched(attempt: Attempt, files: list[StoredFile]) -> dict[str, Path | str]:
    """Where each file lies now, by key, verified by its hash; or why it is not what was committed."""
    folder = attempt.inputs / "claim"
    folder.mkdir()
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int, file: StoredFile) -> Path | str:
        path = folder / f"{number:05d}"
        async with slots:
            for last in (False, True):
                try:
                    await attempt.fetched(lambda: attempt.storage.get_file(file.key, path, file.blob))
                except NotFound:
                    return "the farm no longer has this file"
                except Damaged:
                    if last:  # once may be the network's fault
                        return "what lies in storage is not what was stored: its SHA-256 differs"
                else:
                    break
        return path

    found = await together(one(number, file) for number, file in enumerate(files))
    return {file.key: where for file, where in zip(files, found, strict=True)}
