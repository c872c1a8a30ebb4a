"""All passes of a render as a 32-bit multilayer EXR, every view in one file."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import bpy


def store_denoising(scene: Any) -> list[str]:
    """Have the denoiser's inputs stored where ``scene`` denoises; the passes that come of it, by name.

    The noisy picture is among the passes of a scene that denoises anyway. Measured with 5.2.3 (CPU, Open
    Image Denoise, all three kinds of input passes, both prefilters, and a shadow catcher): storing them
    changes no bit of Combined, Noisy Image, Shadow Catcher or Noisy Shadow Catcher.
    """
    if scene.render.engine != "CYCLES" or not scene.cycles.use_denoising:
        return []
    added = []
    for layer in scene.view_layers:
        if layer.use and layer.cycles.use_denoising and not layer.cycles.denoising_store_passes:
            before = _names(scene, layer)
            layer.cycles.denoising_store_passes = True
            added += [f"{layer.name}.{name}" for name in _names(scene, layer) if name not in before]
    return added


def save(scene: Any, path: str) -> bool:
    """Save the passes of the last render to ``path``; False where it has none, as for strips.

    Changes the scene's output settings.
    """
    settings = scene.render.image_settings
    settings.media_type = "MULTI_LAYER_IMAGE"
    settings.file_format = "OPEN_EXR_MULTILAYER"
    settings.color_depth, settings.exr_codec = "32", "ZIP"
    settings.views_format, settings.use_exr_interleave = "MULTIVIEW", False
    image = next(image for image in bpy.data.images if image.type == "RENDER_RESULT")  # whatever it is called
    if scene.render.use_multiview:
        # The image learns of its views when it is first saved: only from then on they share a file.
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(RuntimeError):
            image.save(filepath=f"{folder}/first.exr", save_copy=True)
    with contextlib.suppress(RuntimeError):
        image.save(filepath=path, save_copy=True)
    return Path(path).is_file()


def _names(scene: Any, layer: Any) -> list[str]:
    from cycles import engine  # type: ignore[import-not-found]  # there once bpy has its add-ons

    return [name for name, _, _ in engine.list_render_passes(scene, layer)]
