"""What a scene renders: its sequencer, its 3D layers, or only its compositor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workers.inside_blender import compat

_STEREO = ("left", "right")


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


def shown_scenes(scene: Any) -> list[Any]:
    """Other scenes that Blender renders for the compositor of ``scene``: it looks at no nested group."""
    tree = compat.compositor(scene) if scene.render.use_compositing else None
    kinds = ("CompositorNodeRLayers", "CompositorNodeCryptomatteV2")
    shown = (node.scene for node in (tree.nodes if tree else ()) if node.bl_idname in kinds and not node.mute)
    return list(dict.fromkeys(other for other in shown if other is not None and other != scene))


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


def stands_in(scene: Any) -> str:
    """What frames are written as where the output cannot hold one; empty where it can.

    A movie of 8 bit is encoded from bytes, and PNG keeps them all; a deeper one is encoded from floats.
    """
    if not unwritable(scene):
        return ""
    deep = scene.render.is_movie_format and scene.render.image_settings.color_depth not in ("", "8")
    return "OpenEXR" if deep else "PNG"


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


def views(scene: Any) -> list[Any]:
    """Views that are rendered of each layer, in their order; none where there is but one picture.

    Stereo knows left and right alone: other views stay in the file, and Blender passes them over.
    """
    render = scene.render
    if not render.use_multiview:
        return []
    stereo = render.views_format == "STEREO_3D"
    return [view for view in render.views if view.use and not (stereo and view.name not in _STEREO)]


def drawn(scene: Any) -> Iterator[Any]:
    """Objects that a render of ``scene`` shows in one of its view layers, those of instances too.

    What is hidden, excluded or in a hidden collection is not among them; what may be unhidden by an
    animation or a driver is.
    """
    seen: set[int] = set()
    for layer in rendering_layers(scene):
        for thing in _of_layer(layer.layer_collection):
            yield from _with_instances(thing, seen)


def shadow_catchers(scene: Any) -> list[str]:
    """Names of drawn objects that catch shadows. Lights have the mark too, where it means nothing of it."""
    return [thing.name for thing in drawn(scene) if thing.is_shadow_catcher and thing.type != "LIGHT"]


def _of_layer(branch: Any) -> Iterator[Any]:
    if branch.exclude or _hides(branch.collection):
        return
    yield from (thing for thing in branch.collection.objects if not _hides(thing))
    for child in branch.children:
        yield from _of_layer(child)


def _of_collection(collection: Any) -> Iterator[Any]:
    if not _hides(collection):
        yield from (thing for thing in collection.objects if not _hides(thing))
        for child in collection.children:
            yield from _of_collection(child)


def _with_instances(thing: Any, seen: set[int]) -> Iterator[Any]:
    if thing.as_pointer() in seen:
        return
    seen.add(thing.as_pointer())
    yield thing
    if thing.instance_type == "COLLECTION" and thing.instance_collection:
        for inside in _of_collection(thing.instance_collection):
            yield from _with_instances(inside, seen)


def _hides(owner: Any) -> bool:
    """Whether an object or collection is never rendered."""
    if not owner.hide_render:
        return False
    data = getattr(owner, "animation_data", None)  # collections have none
    return not (data and (data.action or data.drivers or data.nla_tracks))
