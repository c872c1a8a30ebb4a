"""Runs Blender's render and saves what it made: outputs, preview, passes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

from workers.child import Refusal
from workers.inside_blender import compat, content, sampling
from workers.inside_blender.causes import BAD_RESULT, from_blender
from workers.inside_blender.changes import Changes
from workers.inside_blender.progress import Watch
from workers.protocol import Count

PREVIEW_QUALITY = 90
#: Lossless. Measured at 960×540 with 20 passes, seconds and MB: none 0.12, 93; RLE 0.27, 32; ZIP 0.45, 21;
#: HTJ2K 0.45, 18 (few programs read it); ZIPS 0.65, 23; PIZ 1.25, 23.
PIECE_CODEC = "ZIP"


def render(scene: Any, frame: int, doing: str) -> None:
    """Render one frame of a scene set up by `look.apply`, as ``blender -f`` does: saved, numbered.

    Raises `Refusal` in place of the operator's error.
    """
    with Changes() as changes:
        sampling.spread_anew(changes, scene)
        sampling.spare_memory(changes, scene)
        try:
            state = compat.render_animation(scene, frame)
        except RuntimeError as error:
            raise from_blender(error, doing) from error
    if "FINISHED" not in state:
        raise Refusal(BAD_RESULT, f"Blender ended {doing} without finishing it: {state}.")


def still_format(changes: Changes, scene: Any) -> str | None:
    """Fall back to pictures where the scene's format cannot hold a frame; returns the note about it.

    OpenEXR is scene-linear (of PNG with 16 bit, one in 190 values of a 10-bit movie measured off by one).
    Shades of grey are made of colours once, of bytes here and of floats by the writer of deep movies.
    """
    kind = content.stands_in(scene)
    if not kind:
        return None
    asked = content.unwritable(scene)
    settings = changes.lend_format(scene.render.image_settings)
    mode = "RGBA" if scene.render.film_transparent else "RGB"
    if scene.render.is_movie_format:
        # What a codec has no choice for reads as "", but the writer goes by it: only RGBA is not in all.
        mode = settings.color_mode or "RGBA"
    if kind == "OpenEXR":
        compat.set_format(settings, "OPEN_EXR")
        settings.color_depth, settings.exr_codec = "32", PIECE_CODEC
        settings.color_mode = "RGBA" if mode == "RGBA" else "RGB"
    else:
        compat.set_format(settings, "PNG")
        settings.color_depth, settings.color_mode = "8", mode
    return f"The scene's output is {asked}: its frames are written as {kind}."


def save_preview(scene: Any, path: str) -> None:
    """Save the last render as a JPEG through the scene's view transform, or the output's own.

    Changing `color_management` would lose the output's own: going back copies the scene's.
    """
    with Changes() as changes:
        settings = changes.lend_format(scene.render.image_settings)
        compat.set_format(settings, "JPEG")
        settings.color_mode, settings.quality = "RGB", PREVIEW_QUALITY
        _save(scene, path)


def save_passes(scene: Any, path: str) -> None:
    """Save all passes of the last render, and its composite, as a 32-bit multilayer EXR."""
    with Changes() as changes:
        as_piece(changes.lend_format(scene.render.image_settings))
        _save(scene, path)


def as_piece(settings: Any) -> None:
    """Set an ``ImageFormatSettings`` to 32-bit multilayer EXR, lossless, every view in one file.

    A part for each pass, as Blender 5 writes them by itself; files of older ones ask for all in one part.
    """
    compat.set_format(settings, compat.MULTILAYER)
    settings.color_depth, settings.exr_codec = "32", PIECE_CODEC
    if hasattr(settings, "use_exr_interleave"):
        settings.use_exr_interleave = False
    with contextlib.suppress(TypeError):  # not a choice in every version
        settings.views_format = "MULTIVIEW"


def _save(scene: Any, path: str) -> None:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # By its kind: the file may have a picture of that name.
        result = next(image for image in bpy.data.images if image.type == "RENDER_RESULT")
        result.save_render(path, scene=scene)
    except (StopIteration, RuntimeError) as error:
        # For several views Blender writes one file each, and then says that it could not save.
        if not _keep_first_view(scene, target):
            what = f"The picture could not be saved as “{target.name}”: {str(error).strip()}."
            raise Refusal(BAD_RESULT, what) from error
    if not target.exists():
        raise Refusal(BAD_RESULT, f"Blender wrote no “{target.name}”.")


def _keep_first_view(scene: Any, target: Path) -> bool:
    named = (f"{target.stem}{view.file_suffix}{target.suffix}" for view in content.views(scene))
    views = [path for path in map(target.with_name, named) if path.exists()]
    for index, path in enumerate(views):
        if index:
            path.unlink()
        else:
            path.replace(target)
    return bool(views)


def watch(scene: Any, send: Callable[[Count], None]) -> Watch:
    """A watch that knows what ``scene`` will render."""
    return Watch(send, layer_names(scene), view_count(scene), composites=content.composites(scene))


def layer_names(scene: Any) -> list[str]:
    """View layers that Cycles will count, in their order; none where strips make the picture."""
    if not content.renders_3d(scene):
        return []
    return [layer.name for layer in content.rendering_layers(scene)]


def view_count(scene: Any) -> int:
    """How many views each layer renders."""
    return max(1, len(content.views(scene)))
