"""Why a frame of a scene must stay whole, and why a cut one might differ from a whole one.

What is here was measured or read in Cycles' source; anything else may be cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from workers.inside_blender import content, denoise
from workers.inside_blender.findings import Finding, finding, names

_WHOLE = "Its frames are rendered whole."


def blocks(scene: Any, engine: str) -> list[Finding]:
    """Why frames of ``scene`` are not cut into tiles; ``engine`` is the one that will render."""
    cycles, render = scene.cycles, scene.render
    grease = [thing.name for thing in scene.objects if thing.type in ("GREASEPENCIL", "GPENCIL")]
    volumes = list(_volumes(scene))
    random = list(_random(scene))
    denoises = bool(denoise.layers(scene))
    catchers = [layer.name for layer in denoise.layers(scene) if layer.cycles.use_pass_shadow_catcher]
    reasons = (
        ("sequencer", content.uses_sequencer(scene), "The sequencer makes the picture."),
        ("engine", engine != "CYCLES", f"{engine} cannot render a piece of a picture exactly."),
        ("freestyle", render.use_freestyle, "Freestyle draws lines over the whole picture."),
        ("grease-pencil", grease, f"Grease Pencil is drawn over the whole picture: {names(grease)}."),
        ("path-guiding", cycles.use_guiding, "Path guiding learns from the pixels that it renders."),
        ("time-limit", cycles.time_limit > 0, "A time limit gives pieces more samples than a whole frame."),
        ("volumes", volumes, f"Volumes are sampled by what is near in the picture: {names(volumes)}."),
        (
            "random-texture",
            random,
            "A texture of the type Noise is drawn anew at each look, so that no two renders agree: "
            f"{names(random)}.",
        ),
        ("multi-view", render.use_multiview, "The scene renders several views."),
        ("border", render.use_border, "The scene has a render border of its own."),
        (
            "optix-denoiser",
            denoises and cycles.denoiser == "OPTIX",
            "The OptiX denoiser works on the whole picture and has no twin in the compositor.",
        ),
        (
            "shadow-catcher-denoise",
            catchers,
            f"Denoised shadow catcher passes cannot be denoised after the render: {names(catchers)}.",
        ),
    )
    return [finding(code, "note", what, _WHOLE) for code, there, what in reasons if there]


def inexact(scene: Any) -> list[Finding]:
    """Why a frame of ``scene`` put together from tiles may differ from the whole one."""
    cycles = scene.cycles
    found = []
    if cycles.use_adaptive_sampling:
        found.append(
            finding(
                "adaptive-sampling",
                "note",
                "Adaptive sampling looks at neighbouring pixels: at the seams a few pixels can get other "
                "sample counts.",
                "Switch adaptive sampling off, or render frames whole, to get the very same pixels.",
            )
        )
    if denoise.layers(scene) and not _denoise_exact(scene):
        found.append(
            finding(
                "denoise-rounding",
                "note",
                "The denoiser's input can be restored to the last bit only for sample counts and exposures "
                "that are powers of two: denoised pixels can differ by a few millionths.",
                "Choose 64, 128, 256 … samples, or render frames whole, to get the very same pixels.",
            )
        )
    return found


def _denoise_exact(scene: Any) -> bool:
    return all(
        math.frexp(float(scale))[0] == 0.5
        for layer in denoise.layers(scene)
        for scale in (denoise.Scale.of(scene, layer).before,)
    )


def _volumes(scene: Any) -> Iterator[str]:
    if scene.world and _has_volume(scene.world):
        yield scene.world.name
    for thing in scene.objects:
        if thing.type == "VOLUME":
            yield thing.name
        for slot in thing.material_slots:
            if slot.material and _has_volume(slot.material):
                yield slot.material.name


def _random(scene: Any) -> Iterator[str]:
    """Objects whose shape is random: measured on a Displace modifier, three renders gave three pictures."""
    for thing in scene.objects:
        for modifier in thing.modifiers:
            texture = getattr(modifier, "texture", None)
            if modifier.show_render and texture is not None and texture.type == "NOISE":
                yield thing.name


def _has_volume(owner: Any) -> bool:
    tree = owner.node_tree
    if tree is None:
        return False
    outputs = ("ShaderNodeOutputMaterial", "ShaderNodeOutputWorld")
    return any(
        node.inputs["Volume"].is_linked for node in tree.nodes if node.bl_idname in outputs and not node.mute
    )
