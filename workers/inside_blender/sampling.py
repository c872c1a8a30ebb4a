"""How Cycles samples a scene: how far pixels look at their neighbours, and which samples are rendered.

Read in Cycles' source and measured with 5.2.3, bit for bit on the CPU:

- **Volumes** (5.0 on). A guiding buffer is blurred over 5 pixels to each side after 1, 2, 4, 8 … samples, but
  for the last (`RenderScheduler::volume_guiding_need_denoise`, `volume_guiding_filter_x`). So a pixel of n
  samples depends on those within 5 × (the powers of two below n) pixels, and on none beyond. Measured: with
  2 samples 4 pixels of overlap left 300 wrong pixels and 5 none, with 3 samples 9 left 2 and 10 none.
- **Inner tiles.** A picture larger than one of Cycles' own tiles is rendered one after the other; each looks
  4 pixels beyond its edge with adaptive sampling, and not at all without (`TileManager::update`). So a
  volume has seams inside a frame that is rendered whole, and pieces show the same ones only where none
  lies across them and none sees more than the inner tile does.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from workers.inside_blender import compat, content
from workers.inside_blender.changes import Changes

_BLUR = 5  # pixels to each side
_FILTER_EVERY = 16  # samples; each run of the adaptive filter spreads by one pixel
_INNER_MARGIN = 4  # pixels that an inner tile sees beyond its edge, with adaptive sampling
_INNER_STEP, _INNER_MOST = 128, 8192  # sides of inner tiles above 128 are multiples of it
_LIGHT = ("diffuse", "glossy", "transmission")
#: Samples that Cycles was last made to spread, by scene: what it keeps of a scene is made for them.
_spread: dict[str, int] = {}


def samples_of(scene: Any, layer: Any) -> int:
    """Samples of ``layer``: its own where the scene lets layers decide, as Cycles' sync reads them."""
    samples = int(scene.cycles.samples)
    if layer.samples > 0 and scene.cycles.use_layer_samples == "USE":
        return int(layer.samples)
    if layer.samples > 0 and scene.cycles.use_layer_samples == "BOUNDED":
        return min(int(layer.samples), samples)
    return samples


def rendered_samples(scene: Any, layer: Any) -> int:
    """Samples that a render of ``layer`` takes: of a subset of them, where the scene asks for one."""
    samples, cycles = samples_of(scene, layer), scene.cycles
    if getattr(cycles, "use_sample_subset", False):
        samples = max(min(int(cycles.sample_subset_length), samples - int(cycles.sample_offset)), 1)
    return samples


def most_samples(scene: Any) -> int:
    """Samples of the view layer that has the most."""
    return max((samples_of(scene, layer) for layer in content.rendering_layers(scene)), default=1)


def spare_memory(changes: Changes, scene: Any) -> None:
    """Keep Blender from a fault of its own: forget the scene's data where a layer has a single sample.

    5.2.3 with persistent data, two layers and one sample corrupts memory: in most of several runs it died
    with “munmap_chunk(): invalid pointer”, and once its second layer had other pixels. Two samples, or data
    that is not kept, never did.
    """
    layers = content.rendering_layers(scene)
    if len(layers) > 1 and any(rendered_samples(scene, layer) == 1 for layer in layers):
        changes.set(scene.render, "use_persistent_data", False)


def spread_anew(changes: Changes, scene: Any) -> None:
    """Keep Cycles from spreading fewer samples as it did more of them: forget what was made for those.

    5.2.3 with persistent data, and a blue-noise pattern, which hangs on how many samples there are: after a
    render of 32 samples, one of 16 had other values in every pixel than in a fresh process, and so had a
    layer of 16 after one of 32. With as many samples as before, or more, the values were right.
    """
    totals = {samples_of(scene, layer) for layer in content.rendering_layers(scene)}
    most = max(totals, default=0)
    if len(totals) > 1:
        _spread.pop(scene.name, None)
        changes.set(scene.render, "use_persistent_data", False)
    elif _spread.get(scene.name) != most:
        _spread[scene.name] = most
        if scene.render.use_persistent_data:
            scene.render.use_persistent_data = False
            scene.render.use_persistent_data = True


def own_samples(scene: Any) -> list[str]:
    """View layers whose samples are not the scene's."""
    return [
        layer.name
        for layer in content.rendering_layers(scene)
        if samples_of(scene, layer) != scene.cycles.samples
    ]


def volumes(scene: Any) -> list[str]:
    """Names of what may put a volume into the picture; rather too many than too few.

    Objects can come from anywhere (instances, Geometry Nodes), so that every material in use counts.
    """
    worlds = [scene.world, *(getattr(layer, "world_override", None) for layer in scene.view_layers)]
    owners = [world for world in worlds if world is not None]
    owners += [material for material in bpy.data.materials if material.users > material.use_fake_user]
    found = [owner.name for owner in owners if _has_volume(owner)]
    return found + [volume.name for volume in bpy.data.volumes if volume.users > volume.use_fake_user]


def counts_pixels(scene: Any) -> bool:
    """Whether Cycles counts the samples of each pixel: then it denoises their averages, not their sums.

    It does for adaptive sampling, for volumes, and where it renders in inner tiles (`Film::update_passes`).
    """
    return bool(scene.cycles.use_adaptive_sampling or _shows_volume(scene) or _renders_in_tiles(scene))


def _shows_volume(scene: Any) -> bool:
    if not compat.blurs_volumes():
        return False
    materials = (slot.material for thing in content.drawn(scene) for slot in thing.material_slots)
    return any(owner is not None and _has_volume(owner) for owner in (scene.world, *materials)) or any(
        thing.type == "VOLUME" for thing in content.drawn(scene)
    )


def _renders_in_tiles(scene: Any) -> bool:
    side, render = inner_side(compat.inner_tile(scene.cycles)), scene.render
    width = render.resolution_x * render.resolution_percentage // 100
    height = render.resolution_y * render.resolution_percentage // 100
    if render.use_border:  # as Blender truncates it, in float32
        left, right, bottom, top = (
            int(np.float32(edge) * np.float32(of))
            for edge, of in (
                (render.border_min_x, width),
                (render.border_max_x, width),
                (render.border_min_y, height),
                (render.border_max_y, height),
            )
        )
        width, height = right - left, top - bottom
    return bool(side and (width * height > side * side or max(width, height) > _INNER_MOST))


def reach(scene: Any) -> int:
    """Pixels around a tile that volumes make it depend on; adaptive sampling adds its own to them."""
    if not volumes(scene) or not compat.blurs_volumes():
        return 0
    return _BLUR * (most_samples(scene) - 1).bit_length()


def adaptive_rounds(scene: Any) -> int:
    """How often adaptive sampling looks at a pixel's neighbours before the last sample, at most."""
    if not scene.cycles.use_adaptive_sampling:
        return 0
    return (most_samples(scene) - 1) // _FILTER_EVERY


def inner_tiles(scene: Any) -> tuple[int, int]:
    """Side of Cycles' inner tiles, and pixels beyond them that each sees; (0, 0) where they cannot show.

    They cannot where pixels do not look at each other, nor farther than the margin that all have.
    """
    margin = _INNER_MARGIN if scene.cycles.use_adaptive_sampling else 0
    side = compat.inner_tile(scene.cycles)
    if side == 0 or (adaptive_rounds(scene) <= margin and not reach(scene)):
        return 0, 0
    return inner_side(side), margin


def inner_side(asked: int) -> int:
    """The side that Cycles makes of the one asked for (`TileManager::compute_render_tile_size`)."""
    if asked <= _INNER_STEP:
        return asked
    return min((asked + _INNER_STEP - 1) // _INNER_STEP * _INNER_STEP, _INNER_MOST)


def as_inner_tile(changes: Changes, scene: Any, width: int, height: int) -> None:
    """Render a piece that is no larger than an inner tile and its margin at once, as that tile would be.

    All such pieces of a frame are treated alike: another side makes Cycles forget the scene.
    """
    side = inner_side(compat.inner_tile(scene.cycles))
    render = scene.render
    pixels = render.resolution_x * render.resolution_y * render.resolution_percentage**2 // 10_000
    if pixels > side * side > 0 and max(width, height) <= side + 2 * _INNER_MARGIN:
        changes.set(scene.cycles, "tile_size", _INNER_MOST)


def use_range(changes: Changes, scene: Any, first: int, count: int, total: int, seed: int) -> None:
    """Render ``count`` samples from ``first`` on of ``total``, with ``seed`` added to the scene's own.

    The colours that light passes are divided by are stored with them: only with their own colour are the
    quotients of several ranges weighed to that of all.
    """
    cycles = scene.cycles
    changes.set(cycles, "samples", total)
    changes.set(cycles, "use_sample_subset", True)
    changes.set(cycles, "sample_offset", first)
    changes.set(cycles, "sample_subset_length", count)
    changes.set(cycles, "seed", (int(cycles.seed) + seed) % (1 << 31))
    for layer in content.rendering_layers(scene):
        for light in _LIGHT:
            if any(getattr(layer, f"use_pass_{light}_{way}") for way in ("direct", "indirect")):
                changes.set(layer, f"use_pass_{light}_color", True)


def _has_volume(owner: Any) -> bool:
    tree = owner.node_tree
    if tree is None:
        return False
    outputs = ("ShaderNodeOutputMaterial", "ShaderNodeOutputWorld")
    return any(
        node.inputs["Volume"].is_linked for node in tree.nodes if node.bl_idname in outputs and not node.mute
    )
