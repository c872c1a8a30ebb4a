"""What a scene renders: its sequencer, its 3D layers, or only its compositor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workers.inside_blender import compat


def uses_sequencer(scene: Any) -> bool:
    """Whether strips make the picture: then Blender does not render the scene's own 3D view."""
    return bool(scene.render.use_sequencer and any(strip.type != "SOUND" for strip in compat.strips(scene)))


def composites(scene: Any) -> bool:
    """Whether a compositor works on the picture."""
    return bool(scene.render.use_compositing and compat.compositor(scene) is not None)


def nodes(tree: Any, seen: Any = None) -> Iterator[Any]:
    """Every node of ``tree`` that is not muted, nested groups too, each group once."""
    seen = set() if seen is None else seen
    if tree is None or tree.as_pointer() in seen:
        return
    seen.add(tree.as_pointer())
    for node in tree.nodes:
        if node.mute:
            continue
        yield node
        if node.bl_idname == "CompositorNodeGroup":
            yield from nodes(node.node_tree, seen)


def file_outputs(scene: Any) -> list[Any]:
    """File Output nodes that will write when ``scene`` is rendered."""
    tree = compat.compositor(scene) if scene.render.use_compositing else None
    return [node for node in nodes(tree) if node.bl_idname == "CompositorNodeOutputFile"]


def unwritable(scene: Any) -> str:
    """What the scene's output is where no frame can be written as it, in words; empty where one can."""
    chosen = scene.render.image_settings.file_format
    if not chosen:
        return "a format that this Blender no longer has"
    return f"a movie ({chosen})" if scene.render.is_movie_format else ""


def renders_3d(scene: Any) -> bool:
    """Whether a render engine, and so a camera, is needed: not for strips or a picture made of nodes."""
    if uses_sequencer(scene):
        return any(strip.type == "SCENE" for strip in compat.strips(scene))
    if not composites(scene):
        return True
    kinds = {node.bl_idname for node in nodes(compat.compositor(scene))}
    return bool(kinds & {"CompositorNodeRLayers", "CompositorNodeCryptomatteV2"}) or not (
        kinds & {"CompositorNodeImage", "CompositorNodeMovieClip", "CompositorNodeRGB"}
    )


def rendering_layers(scene: Any) -> list[Any]:
    """View layers that are switched on, in the order in which they render."""
    return [layer for layer in scene.view_layers if layer.use]
