"""Renders a whole frame and saves it in place, as ``blender -f`` does, with every path kept inside."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from workers.child import Refusal
from workers.inside_blender import content, devices, look, paths, picture
from workers.inside_blender.causes import BAD_RESULT, BAD_SCENE
from workers.inside_blender.changes import Changes
from workers.inside_blender.session import Session
from workers.protocol import Count, Done, FinishFrame, RenderFrame


def render_frame(session: Session, request: RenderFrame) -> Done:
    """Carry out a `RenderFrame`; raises `Refusal`."""
    with Changes() as changes:
        scene, device_name = look.apply(changes, request.look, session.scene)
        return save_frame(session, changes, scene, request, device_name)


def save_frame(
    session: Session, changes: Changes, scene: Any, request: RenderFrame | FinishFrame, device_name: str
) -> Done:
    """Render ``scene``, set up by `look.apply`, into ``request.out_dir``; for a frame and a finish alike."""
    _check_shown(scene)
    notes = _output_settings(changes, scene)
    paths.map_outputs(changes, scene, request.out_dir)
    before = paths.snapshot(request.out_dir)
    doing = f"frame {request.look.frame}"
    with picture.watch(scene, session.send) as watch:
        picture.render(scene, request.look.frame, doing)
    outputs = paths.written(request.out_dir, before)
    if not outputs:
        raise Refusal(BAD_RESULT, f"Blender rendered {doing} but wrote no file.")
    started = time.monotonic()
    session.send(Count("saving"))
    picture.save_preview(scene, request.preview)
    if request.exr:
        picture.save_passes(scene, request.exr)
    seconds: dict[str, float] = dict(watch.seconds)
    seconds["save"] += time.monotonic() - started
    _check(Path(request.out_dir), outputs, doing)
    return Done(
        outputs=outputs,
        seconds=seconds,
        device=devices.rendered_on(scene),
        device_name=device_name,
        seed=int(scene.cycles.seed),
        notes=notes,
    )


def _check_shown(scene: Any) -> None:
    """Blender ends such a frame without an error and without a picture."""
    for other in content.shown_scenes(scene):
        if other.camera is None and not any(thing.type == "CAMERA" for thing in other.objects):
            raise Refusal(
                BAD_SCENE,
                f"The compositor of “{scene.name}” shows the scene “{other.name}”, which has no camera.",
                "Add a camera to it, or mute the node that shows it.",
            )


def _output_settings(changes: Changes, scene: Any) -> list[str]:
    """Make sure that a picture is written; returns notes about what had to change for it."""
    note = picture.still_format(changes, scene)
    notes = [note] if note else []
    if not getattr(scene.render, "save_output", True) and not content.file_outputs(scene):
        changes.set(scene.render, "save_output", True)
        notes.append("The scene saves no output: its frames are written all the same.")
    return notes


def _check(out_dir: Path, outputs: list[str], doing: str) -> None:
    empty = [name for name in outputs if (out_dir / name).stat().st_size == 0]
    if empty:
        raise Refusal(BAD_RESULT, f"Blender wrote {doing} as an empty file: {empty[0]}.")
