"""Denoises the passes of a merged frame as Cycles would have, on the whole picture.

Cycles hands Open Image Denoise the *sum* of a pixel's samples, before exposure, and divides afterwards
(intern/cycles/integrator/denoiser_oidn.cpp); where it counts the samples of each pixel (see
`sampling.counts_pixels`) it hands over the average. A stored pass holds ``sum × (exposure / samples)``, so
the sum is taken back out first. That is exact where the factor is a power of two, which for averages means:
for every sample count at exposure 1. Other factors lose the last bit of the sum (measured at 7 and 12
samples: at most 6e-5).

The Shadow Catcher pass is denoised too: as an average that knows no exposure, guided by a grey albedo.
Where a scene has shadow catchers and no such pass, Combined is composed of denoised passes that no file
holds; such frames are not cut (see `cutting`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workers.child import Refusal
from workers.inside_blender import content, counts, exr, oidn, reading, sampling
from workers.inside_blender.causes import BAD_RESULT

#: Denoised passes by (layer, view) and name; the view is empty where there is but one.
Denoised = dict[tuple[str, str], dict[str, np.ndarray]]

COMBINED, CATCHER = "Combined", "Shadow Catcher"
#: Where a denoised pass leaves what it was made of.
NOISY = {COMBINED: "Noisy Image", CATCHER: "Noisy Shadow Catcher"}

#: Passes that the denoiser is given, and their channels.
CHANNELS = {
    COMBINED: "RGBA",
    CATCHER: "RGB",
    counts.PASS: "X",
    "Denoising Albedo": "RGB",
    "Denoising Normal": "XYZ",
}

#: What Cycles' ``denoising_input_passes`` needs beside the picture itself: the denoiser's word → pass.
GUIDES: dict[str, dict[str, str]] = {
    "RGB": {},
    "RGB_ALBEDO": {"albedo": "Denoising Albedo"},
    "RGB_ALBEDO_NORMAL": {"albedo": "Denoising Albedo", "normal": "Denoising Normal"},
}
_GREY = np.float32(0.5)  # Cycles' albedo for a pass that has none

_ONE = np.float32(1.0)


@dataclass(frozen=True)
class Scale:
    """Cycles' factors of a layer, as float32: what it multiplies by, in its own order."""

    samples: np.float32
    exposure: np.float32
    adaptive: bool
    averaged: bool

    @classmethod
    def of(cls, scene: Any, layer: Any) -> Scale:
        """The scale at which Cycles renders ``layer``."""
        cycles = scene.cycles
        return cls(
            np.float32(sampling.rendered_samples(scene, layer)),
            np.float32(cycles.film_exposure),
            bool(cycles.use_adaptive_sampling),
            sampling.counts_pixels(scene),
        )

    @property
    def exact(self) -> bool:
        """Whether what Cycles hands to the denoiser can be had back to the last bit."""
        return math.frexp(float(self.before()))[0] == 0.5

    def before(self) -> np.float32:
        """Takes a stored pass to what Cycles hands to the denoiser."""
        return _ONE / self.exposure if self.averaged else self.samples / self.exposure


def _stored(sums: np.ndarray, samples: Any, exposure: np.float32) -> np.ndarray:
    """What Cycles stores of the sums in its buffer; ``samples`` are those of each pixel."""
    stored: np.ndarray = sums * (_ONE / samples * exposure)
    return stored


def layers(scene: Any) -> list[Any]:
    """View layers of ``scene`` that its own render would have denoised."""
    if not scene.cycles.use_denoising:
        return []
    return [layer for layer in content.rendering_layers(scene) if layer.cycles.use_denoising]


def frame(scene: Any, merged: str, header: exr.Header) -> Denoised:
    """Denoise the merged frame at ``merged``: every pass, view and layer that Cycles would have.

    Raises `Refusal` (bad-result) where it lacks what the denoiser needs.
    """
    wanted = {layer.name: layer for layer in layers(scene)}
    found: Denoised = {}

    def take(layer: str, view: str, passes: Mapping[str, np.ndarray]) -> None:
        found[layer, view] = denoised(scene, wanted[layer], passes)

    if wanted:
        needed = {
            name: {each: CHANNELS[each] for each in sorted(needs(scene, layer))}
            for name, layer in wanted.items()
        }
        try:
            reading.read(scene, merged, header, needed, take)
        except oidn.Unusable as error:
            raise Refusal(
                BAD_RESULT,
                f"The frame could not be denoised: {error}.",
                "Render it whole, or without denoising.",
            ) from error
    return found


def hidden_catchers(scene: Any) -> Iterator[str]:
    """Shadow catchers whose passes Cycles denoises and composes into Combined without storing them.

    It does so for every layer that shows one and has no Shadow Catcher pass (its “approximate” mode).
    """
    if any(not layer.cycles.use_pass_shadow_catcher for layer in layers(scene)):
        yield from content.shadow_catchers(scene)


def needs(scene: Any, layer: Any) -> set[str]:
    """Names of the passes that `denoised` takes of a layer that is denoised."""
    found = {COMBINED, *_guides(scene).values()}
    if layer.cycles.use_pass_shadow_catcher:
        found.add(CATCHER)
    if scene.cycles.use_adaptive_sampling:
        found.add(counts.PASS)
    return found


def denoised(scene: Any, layer: Any, passes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The passes of ``layer`` that Cycles denoises, by name: Combined and, where asked for, Shadow Catcher.

    ``passes`` are those that `needs` names: float32 of (height, width, channels), rows bottom-up; so are
    the results. Raises `oidn.Unusable`.
    """
    scale, prefilter = Scale.of(scene, layer), scene.cycles.denoising_prefilter
    samples: Any = scale.samples
    if scale.adaptive:
        samples = counts.counted(passes[counts.PASS], float(scale.samples))
    with oidn.Denoiser(scene.cycles.denoising_quality) as denoiser:
        guides = {kind: passes[name] for kind, name in _guides(scene).items()}
        if prefilter == "ACCURATE":
            guides = {kind: denoiser.clean(kind, guide) for kind, guide in guides.items()}
        clean = prefilter != "FAST"
        result = passes[COMBINED].copy()
        colour = denoiser.denoise(result[..., :3] * scale.before(), guides, clean_guides=clean)
        if scale.averaged:
            colour *= samples
        result[..., :3] = _stored(colour, samples, scale.exposure)
        found = {COMBINED: result}
        if CATCHER in passes:
            if "albedo" in guides:
                guides["albedo"] = np.full_like(guides["albedo"], _GREY)
            catcher = denoiser.denoise(passes[CATCHER], guides, clean_guides=clean)
            found[CATCHER] = _stored(catcher * samples, samples, _ONE)
    return found


def _guides(scene: Any) -> dict[str, str]:
    return GUIDES[scene.cycles.denoising_input_passes]
