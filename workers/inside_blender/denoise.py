"""Denoises a merged frame as Cycles would have: the compositor's Denoise node in a scene of its own.

Cycles hands Open Image Denoise the *sum* of a pixel's samples, before exposure, and divides afterwards
(intern/cycles/integrator/denoiser_oidn.cpp); with adaptive sampling it hands over the average. The
stored piece holds ``sum × (exposure / samples)``, so the sum is taken back out first. That is exact where
samples and exposure are powers of two, which measured bit-identical to denoising in the render; other
counts differ in the last bits (measured: 7 and 12 samples, at most 5e-5 of the brightest value).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from workers.child import Refusal
from workers.inside_blender import compat, content, exr
from workers.inside_blender.causes import BAD_RESULT, from_blender

#: What Cycles' ``denoising_input_passes`` needs beside the picture itself: pass → Denoise socket.
GUIDES = {
    "RGB": {},
    "RGB_ALBEDO": {"Denoising Albedo": "Albedo"},
    "RGB_ALBEDO_NORMAL": {"Denoising Albedo": "Albedo", "Denoising Normal": "Normal"},
}


@dataclass(frozen=True)
class Scale:
    """Factors around the denoiser: ``before`` gives its input back Cycles' scale, ``after`` undoes it."""

    before: np.float32
    after: np.float32

    @classmethod
    def of(cls, scene: Any, layer: Any) -> Scale:
        """The scale at which Cycles denoises ``layer``."""
        exposure = np.float32(scene.cycles.film_exposure)
        one = np.float32(1.0)
        if scene.cycles.use_adaptive_sampling:
            return cls(one / exposure, exposure)
        samples = np.float32(_samples(scene, layer))
        return cls(samples / exposure, one / samples * exposure)


def _samples(scene: Any, layer: Any) -> int:
    """Samples of ``layer``: its own where the scene lets layers decide, as Cycles' sync reads them."""
    cycles = scene.cycles
    samples = int(cycles.samples)
    if layer.samples > 0 and cycles.use_layer_samples == "USE":
        return int(layer.samples)
    if layer.samples > 0 and cycles.use_layer_samples == "BOUNDED":
        return min(int(layer.samples), samples)
    return samples


def layers(scene: Any) -> list[Any]:
    """View layers of ``scene`` that its own render would have denoised."""
    if not scene.cycles.use_denoising:
        return []
    return [layer for layer in content.rendering_layers(scene) if layer.cycles.use_denoising]


def denoise(scene: Any, merged: str, header: exr.Header) -> dict[str, np.ndarray]:
    """Denoised Combined of each layer that asks for it: float32 RGBA, flat, rows bottom-up.

    ``merged`` is the whole noisy frame as multilayer EXR. Raises `Refusal` (bad-result) where it lacks
    the passes that the denoiser needs.
    """
    wanted = layers(scene)
    if not wanted:
        return {}
    helper = bpy.data.scenes.new("Tessera denoise")
    image = bpy.data.images.load(merged)
    try:
        with tempfile.TemporaryDirectory(prefix="denoise-") as folder:
            _set_up(helper, header)
            return {
                layer.name: _one(helper, scene, layer, image, header, Path(folder, f"{index}.exr"))
                for index, layer in enumerate(wanted)
            }
    finally:
        bpy.data.images.remove(image)
        bpy.data.scenes.remove(helper)


def _set_up(helper: Any, header: exr.Header) -> None:
    render = helper.render
    render.resolution_x, render.resolution_y, render.resolution_percentage = header.width, header.height, 100
    compat.set_format(render.image_settings, "OPEN_EXR")
    render.image_settings.color_mode, render.image_settings.color_depth = "RGBA", "32"
    render.image_settings.exr_codec = "NONE"
    for name, value in (
        ("compositor_device", "CPU"),
        ("compositor_denoise_device", "CPU"),
        ("compositor_precision", "FULL"),
    ):
        if hasattr(render, name):
            setattr(render, name, value)


def _one(helper: Any, scene: Any, layer: Any, image: Any, header: exr.Header, path: Path) -> np.ndarray:
    scale = Scale.of(scene, layer)
    _wire(helper, scene, layer, image, header, scale)
    helper.render.filepath = str(path)
    try:
        bpy.ops.render.render(write_still=True, scene=helper.name)
    except RuntimeError as error:
        raise from_blender(error, f"the denoising of “{layer.name}”") from error
    pixels = _pixels(path, header)
    pixels.reshape(-1, 4)[:, :3] *= scale.after
    return pixels


def _wire(helper: Any, scene: Any, layer: Any, image: Any, header: exr.Header, scale: Scale) -> None:
    tree, result = compat.new_compositor(helper)
    source = tree.nodes.new("CompositorNodeImage")
    source.image = image
    source.layer = layer.name
    denoiser = tree.nodes.new("CompositorNodeDenoise")
    compat.set_denoise(denoiser, scene.cycles.denoising_prefilter, scene.cycles.denoising_quality)
    for name, socket in {"Combined": "", **GUIDES[scene.cycles.denoising_input_passes]}.items():
        if not any(channel.startswith(f"{layer.name}.{name}.") for channel in header.channels):
            raise Refusal(BAD_RESULT, f"The merged frame has no pass “{name}” of “{layer.name}” to denoise.")
        if socket:
            tree.links.new(source.outputs[name], denoiser.inputs[socket])
    first, second, out = compat.new_multiply(tree)
    second.default_value = (float(scale.before),) * 3 + (1.0,)
    tree.links.new(source.outputs["Combined"], first)
    tree.links.new(out, denoiser.inputs["Image"])
    tree.links.new(denoiser.outputs["Image"], result)


def _pixels(path: Path, header: exr.Header) -> np.ndarray:
    image = bpy.data.images.load(str(path))
    try:
        image.colorspace_settings.name = "Non-Color"
        if tuple(image.size) != (header.width, header.height):
            raise Refusal(BAD_RESULT, "The denoiser gave a picture of another size.")
        pixels = np.empty(header.width * header.height * 4, dtype=np.float32)
        image.pixels.foreach_get(pixels)
        return pixels
    finally:
        bpy.data.images.remove(image)
