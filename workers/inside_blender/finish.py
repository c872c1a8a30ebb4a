"""Finishes a merged frame: denoise, then the scene's own compositor and output, by Blender's own code.

The merged passes take the place of Cycles' (see `replay`); everything after the render is as in a
direct one. The result is bit-identical to the uncut frame where the pieces are, and where the denoiser
is exact (see `denoise`).
"""

from __future__ import annotations

import time
from typing import Any

from workers.child import Refusal
from workers.inside_blender import content, denoise, exr, look, sampling, views
from workers.inside_blender.causes import BAD_RESULT
from workers.inside_blender.changes import Changes
from workers.inside_blender.frame import save_frame
from workers.inside_blender.replay import Replay, register
from workers.inside_blender.session import Session
from workers.protocol import Count, Done, FinishFrame


def finish_frame(session: Session, request: FinishFrame) -> Done:
    """Carry out a `FinishFrame`; raises `Refusal` (bad-result) where the merged file does not fit."""
    exr.read(request.merged)  # a file that is not whole is refused before it is opened
    with views.readable(request.merged) as merged, Changes() as changes:
        header = exr.read(merged)
        scene, device_name = look.apply(changes, request.look, session.scene)
        _check(scene, header)
        started = time.monotonic()
        session.send(Count("compositing"))
        Replay.denoised = denoise.frame(scene, merged, header)
        denoising = time.monotonic() - started
        register()
        Replay.merged, Replay.header = merged, header
        Replay.error = None
        Replay.totals = _adaptive_totals(scene)
        changes.set(scene.render, "engine", Replay.bl_idname)
        try:
            done = save_frame(session, changes, scene, request, device_name)
        except Refusal as refusal:
            raise _told() or refusal from refusal
        finally:
            Replay.denoised = {}
        told = _told()
        if told:
            raise told
        done.seconds["render"] += denoising
        if scene.cycles.use_denoising and scene.cycles.denoiser == "OPTIX":
            done.notes.append("The frame was denoised with Open Image Denoise: OptiX has no compositor twin.")
        return done


def _adaptive_totals(scene: Any) -> dict[str, int]:
    if not scene.cycles.use_adaptive_sampling:
        return {}
    return {layer.name: sampling.rendered_samples(scene, layer) for layer in content.rendering_layers(scene)}


def _told() -> Refusal | None:
    if Replay.error is None:
        return None
    return Refusal(BAD_RESULT, f"The merged frame does not fit its scene: {Replay.error}.")


def _check(scene: object, header: exr.Header) -> None:
    for layer in content.rendering_layers(scene):
        if not any(channel.startswith(f"{layer.name}.Combined.") for channel in header.channels):
            raise Refusal(BAD_RESULT, f"The merged frame has no view layer “{layer.name}”.")
