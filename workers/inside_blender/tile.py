"""Renders a piece of a frame: a 32-bit multilayer EXR with every pass of every view layer.

What works on the whole picture (compositor, sequencer, stamp, denoiser) is off; `finish` runs it once
on the merged frame. Where the scene denoises, the passes that the denoiser needs are stored.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from workers.child import Refusal
from workers.inside_blender import content, counts, devices, exr, look, picture, sampling
from workers.inside_blender.causes import BAD_RESULT, BAD_SCENE
from workers.inside_blender.changes import Changes
from workers.inside_blender.session import Session
from workers.protocol import Count, Done, RenderTile


def render_tile(session: Session, request: RenderTile) -> Done:
    """Carry out a `RenderTile`; raises `Refusal` (bad-result) where the size is not as asked."""
    target = Path(request.exr)
    target.parent.mkdir(parents=True, exist_ok=True)
    with Changes() as changes, tempfile.TemporaryDirectory(dir=target.parent, prefix="piece-") as folder:
        scene, device_name = look.apply(changes, request.look, session.scene)
        _only_the_piece(changes, scene, request)
        picture.as_piece(changes.lend_format(scene.render.image_settings))
        changes.set(scene.render, "filepath", f"{folder}/piece_")
        changes.set(scene.render, "use_file_extension", True)
        changes.set_if_there(scene.render, "save_output", True)
        doing = f"a piece of frame {request.look.frame}"
        with picture.watch(scene, session.send) as watch:
            picture.render(scene, request.look.frame, doing)
        written = sorted(Path(folder).iterdir())
        if len(written) != 1:
            raise Refusal(BAD_RESULT, f"Blender wrote {len(written)} files for {doing} instead of one.")
        _check_size(written[0], request, doing)
        _restate_counts(scene, written[0], watch.ended)
        started = time.monotonic()
        session.send(Count("saving"))
        picture.save_preview(scene, request.preview)
        written[0].replace(target)
        seconds = dict(watch.seconds)
        seconds["save"] += time.monotonic() - started
        return Done(
            outputs=[target.name],
            seconds=seconds,
            device=devices.rendered_on(scene),
            device_name=device_name,
            seed=int(scene.cycles.seed),
        )


def _only_the_piece(changes: Changes, scene: Any, request: RenderTile) -> None:
    render = scene.render
    if content.uses_sequencer(scene):
        raise Refusal(
            BAD_SCENE,
            "A frame that the sequencer makes cannot be cut into pieces.",
            "Render this scene without tiles.",
        )
    for name, edge in zip(
        ("border_min_x", "border_max_x", "border_min_y", "border_max_y"), request.border, strict=True
    ):
        changes.set(render, name, edge)
    changes.set(render, "use_border", True)
    changes.set(render, "use_crop_to_border", True)
    for name in ("use_compositing", "use_sequencer", "use_stamp"):
        changes.set(render, name, False)
    if request.samples is not None:
        sampling.use_range(changes, scene, *request.samples)
    sampling.as_inner_tile(changes, scene, request.width, request.height)
    if scene.cycles.use_denoising:
        changes.set(scene.cycles, "use_denoising", False)
        for layer in content.rendering_layers(scene):
            if layer.cycles.use_denoising:
                changes.set(layer.cycles, "denoising_store_passes", True)
                if scene.cycles.use_adaptive_sampling:
                    changes.set(layer.cycles, "pass_debug_sample_count", True)


def _restate_counts(scene: Any, piece: Path, ended: list[int]) -> None:
    """Make the counts of adaptive sampling, where they are stored, those of the frame (see `counts`)."""
    layers = content.rendering_layers(scene)
    if scene.cycles.use_adaptive_sampling and any(layer.cycles.pass_debug_sample_count for layer in layers):
        views = [view.name for view in content.views(scene)] or [""]
        renders = [(layer.name, view) for layer in layers for view in views]
        totals = {layer.name: sampling.rendered_samples(scene, layer) for layer in layers}
        counts.restate(piece, dict(zip(renders, ended, strict=False)), totals)


def _check_size(path: Path, request: RenderTile, doing: str) -> None:
    header = exr.read(str(path))
    if (header.width, header.height) != (request.width, request.height):
        raise Refusal(
            BAD_RESULT,
            f"Blender made {doing} {header.width}×{header.height} pixels instead of "
            f"{request.width}×{request.height}.",
        )
