"""Renders the reference: the whole frame, saved as the scene says, and all of its passes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy

from workers.child import Link, Refusal
from workers.protocol import Count, Done, RenderReference
from workers.reference import machine, naming, passes, setting, stamp

_SAMPLE = re.compile(r"Sample (\d+)/(\d+)")
_EVERY = 0.25  # seconds between counts


def render_reference(request: RenderReference, link: Link) -> Done:
    """Carry out a `RenderReference`; raises `Refusal`."""
    look = request.look
    scene = setting.set_up(look)
    device_name = machine.choose(look.device)
    if request.first is not None:
        setting.take_first(scene, request.first)
    added = passes.store_denoising(scene)
    notes = _give_frames_a_format(scene)
    naming.send_to(request.out_dir, scene)
    burnt = stamp.unrepeatable(scene)
    if look.play_from is not None:
        link.send(Count("loading"))
        setting.play(scene, look.play_from, look.frame)
    started = time.monotonic()
    with _counted(link):
        _render(scene, look.frame)
    rendered = time.monotonic()
    outputs = _written(request.out_dir)
    stamped = sorted(_frames(scene, look.frame, request.out_dir) & set(outputs)) if burnt else []
    saved = passes.save(scene, request.exr)
    return Done(
        outputs=outputs,
        seconds={"render": rendered - started, "save": time.monotonic() - rendered},
        device=machine.rendered_on(scene),
        device_name=device_name,
        report={"added": added, "passes": saved, "stamped": stamped, "burnt": burnt},
        notes=notes,
    )


def _render(scene: Any, frame: int) -> None:
    try:
        state = bpy.ops.render.render(
            animation=True, scene=scene.name, frame_start=frame, frame_end=frame
        )  # an animation numbers its files; a still does not
    except RuntimeError as error:
        said = str(error).strip().removeprefix("Error: ")
        raise Refusal("bad-result", f"Blender could not render frame {frame} whole: {said}") from error
    if "FINISHED" not in state:
        raise Refusal("bad-result", f"Blender ended frame {frame} without finishing it.")


def _give_frames_a_format(scene: Any) -> list[str]:
    """Where the output cannot hold one frame, as a movie: PNG, or OpenEXR for more than 8 bits.

    A scene that saves nothing saves its frames.
    """
    notes, render = [], scene.render
    settings = render.image_settings
    if render.is_movie_format or not settings.file_format:
        mode = "RGBA" if render.film_transparent else "RGB"
        if render.is_movie_format:
            mode = settings.color_mode or "RGBA"
        deep = render.is_movie_format and settings.color_depth not in ("", "8")
        settings.media_type = "IMAGE"
        settings.file_format = "OPEN_EXR" if deep else "PNG"
        settings.color_depth = "32" if deep else "8"
        settings.color_mode = "RGB" if deep and mode != "RGBA" else mode
        if deep:
            settings.exr_codec = "ZIP"
        notes.append("The scene's output holds no single frames: its frames were compared.")
    if not getattr(render, "save_output", True) and not naming.writers(scene):
        render.save_output = True
    return notes


def _written(folder: str) -> list[str]:
    """Every plain file under ``folder``, POSIX and relative, sorted."""
    root = Path(folder)
    found = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path.relative_to(root).as_posix() for path in found)


def _frames(scene: Any, frame: int, folder: str) -> set[str]:
    """The names of the frame itself, in each view, without the files of File Output nodes."""
    render, root = scene.render, Path(folder).resolve()
    views = [view.name for view in render.views if view.use] if render.use_multiview else []
    paths = (Path(render.frame_path(frame=frame, view=view)) for view in ("", *views))
    return {path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root)}


@contextmanager
def _counted(link: Link) -> Iterator[None]:
    """Pass on the samples that Cycles counts."""
    last = 0.0

    def counted(text: Any, *_: Any) -> None:
        nonlocal last
        found = _SAMPLE.search(str(text))
        if found and time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            link.send(Count("rendering", int(found[1]), int(found[2])))

    bpy.app.handlers.render_stats.append(counted)
    try:
        yield
    finally:
        bpy.app.handlers.render_stats.remove(counted)
