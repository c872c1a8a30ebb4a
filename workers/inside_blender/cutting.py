"""Why a frame of a scene must stay whole, and why a cut one might differ from a whole one.

What is here was measured or read in Cycles' source; anything else may be cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from workers.inside_blender import compat, content, denoise, exr, oidn, sampling
from workers.inside_blender.findings import Finding, finding, names

_WHOLE = "Its frames are rendered whole."
_AVERAGED = "Cut frames into tiles instead, which are exact, or take the average for what it is."


def blocks(scene: Any, engine: str) -> list[Finding]:
    """Why frames of ``scene`` are not cut into tiles; ``engine`` is the one that will render."""
    cycles = scene.cycles
    grease = list(_grease_pencil(scene))
    random = list(_random(scene))
    denoises = bool(denoise.layers(scene))
    catchers = list(denoise.hidden_catchers(scene))
    long = list(_long_names(scene)) if engine == "CYCLES" else []
    reasons = (
        ("sequencer", content.uses_sequencer(scene), "The sequencer makes the picture."),
        ("engine", engine != "CYCLES", f"{engine} cannot render a piece of a picture exactly."),
        ("freestyle", _freestyle(scene), "Freestyle draws lines over the whole picture."),
        ("grease-pencil", grease, f"Grease Pencil is drawn over the whole picture: {names(grease)}."),
        ("path-guiding", cycles.use_guiding, "Path guiding learns from the pixels that it renders."),
        ("time-limit", cycles.time_limit > 0, "A time limit gives pieces more samples than a whole frame."),
        (
            "random-texture",
            random,
            "A texture of the type Noise is drawn anew at each look, so that no two renders agree: "
            f"{names(random)}.",
        ),
        (
            "optix-denoiser",
            denoises and cycles.denoiser == "OPTIX",
            "The OptiX denoiser works on the whole picture and has no twin in the compositor.",
        ),
        (
            "shadow-catcher-denoise",
            catchers,
            "Shadow catchers are denoised before Cycles makes the picture of them, unless their pass is "
            f"stored (View Layer → Passes → Light → Shadow Catcher): {names(catchers)}.",
        ),
        (
            "denoiser-missing",
            denoises and not oidn.available(),
            "This Blender's denoiser cannot be reached after the render.",
        ),
        (
            "long-names",
            long,
            "Of passes whose names, with layer and view, have more than 61 bytes Blender reads nothing back: "
            f"{names(long)}.",
        ),
    )
    return [finding(code, "note", what, _WHOLE) for code, there, what in reasons if there]


def _long_names(scene: Any) -> Iterator[str]:
    """Passes that a finish could not load."""
    views = [f".{view.name}" for view in content.views(scene)] or [""]
    denoised = [layer.name for layer in denoise.layers(scene)]
    for layer in content.rendering_layers(scene):
        passes = {name for name, _, _ in compat.cycles_passes(scene, layer)}
        if layer.name in denoised:
            passes |= denoise.needs(scene, layer)
        for name in sorted(passes):
            if not all(exr.reads_back(f"{layer.name}.{name}{view}") for view in views):
                yield f"{layer.name}.{name}"


def inexact(scene: Any) -> list[Finding]:
    """Why a frame of ``scene`` put together from tiles may differ from the whole one."""
    found = []
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
    return all(denoise.Scale.of(scene, layer).exact for layer in denoise.layers(scene))


def ranges(scene: Any) -> list[Finding]:
    """Why samples of ``scene`` that are rendered apart and averaged differ by more than rounding.

    Measured against 16 or 64 samples at once, largest difference of Combined relative to its value.
    """
    cycles = scene.cycles
    rounds = sampling.adaptive_rounds(scene)
    apart = sampling.own_samples(scene)
    volumes = sampling.volumes(scene) if sampling.reach(scene) else []
    catchers = content.shadow_catchers(scene)
    reasons = (
        ("path-guiding", cycles.use_guiding, "Path guiding learns from the samples before."),
        ("time-limit", cycles.time_limit > 0, "A time limit holds for each range by itself."),
        ("adaptive-sampling", rounds, "Adaptive sampling decides by the samples of each range alone."),
        ("layer-samples", apart, f"View layers have sample counts of their own: {names(apart)}."),
        ("volumes", volumes, f"Volumes are sampled by what the samples before met: {names(volumes)}."),
        (
            "shadow-catcher",
            catchers,
            f"Shadow catchers are a quotient of what all samples met: {names(catchers)}.",
        ),
        (
            "motion-vectors",
            [layer.name for layer in content.rendering_layers(scene) if layer.use_pass_vector],
            "At the edges of what moves, the Vector pass is no average of its samples.",
        ),
    )
    return [finding(code, "note", what, _AVERAGED) for code, there, what in reasons if there]


def _freestyle(scene: Any) -> bool:
    """Whether Freestyle draws anything: layers can leave it out, or have nothing for it to draw."""

    def draws(layer: Any) -> bool:
        settings = layer.freestyle_settings
        if settings.mode == "SCRIPT":
            return any(module.use for module in settings.modules)
        return any(lines.show_render for lines in settings.linesets)

    layers = content.rendering_layers(scene)
    return bool(scene.render.use_freestyle and any(layer.use_freestyle and draws(layer) for layer in layers))


def _grease_pencil(scene: Any) -> Iterator[str]:
    """Grease Pencil objects that are drawn. Nodes and particles can show any that the file has."""
    things = bpy.data.objects if _instances(scene) else content.drawn(scene)
    yield from (thing.name for thing in things if thing.type in ("GREASEPENCIL", "GPENCIL"))


def _instances(scene: Any) -> bool:
    """Whether drawn objects bring in others that need not be drawn by themselves."""
    trees = [tree for tree in bpy.data.node_groups if tree.bl_idname == "GeometryNodeTree" and tree.users]
    kinds = ("GeometryNodeObjectInfo", "GeometryNodeCollectionInfo")
    if any(node.bl_idname in kinds for tree in trees for node in tree.nodes):
        return True
    return any(
        system.settings.render_type in ("OBJECT", "COLLECTION")
        for thing in content.drawn(scene)
        for system in thing.particle_systems
    )


def _random(scene: Any) -> Iterator[str]:
    """Objects whose shape is random: measured on a Displace modifier, three renders gave three pictures."""
    for thing in scene.objects:
        for modifier in thing.modifiers:
            texture = getattr(modifier, "texture", None)
            if modifier.show_render and texture is not None and texture.type == "NOISE":
                yield thing.name
