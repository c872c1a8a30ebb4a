"""Which objects can change a render: those that are in it, and hidden ones that others make use of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from workers.inside_blender import content


def affecting(scene: Any) -> list[Any]:
    """Objects that can change a render of ``scene``, in a stable order.

    A hidden object counts where something other than a scene or a collection refers to it: a hidden
    cloth may well carry the clothes that render.
    """
    rendered: dict[str, Any] = {}
    while scene is not None:
        for layer in content.rendering_layers(scene):
            for thing in _in_layer(layer.layer_collection):
                _add(rendered, thing)
        scene = scene.background_set
    hidden = {thing for thing in bpy.data.objects if thing.name_full not in rendered and thing.modifiers}
    users = bpy.data.user_map(subset=hidden) if hidden else {}
    used = [thing for thing in hidden if any(_uses(user, thing) for user in users[thing])]
    return [*rendered.values(), *sorted(used, key=lambda thing: thing.name_full)]


def is_shown(thing: Any, modifier: Any) -> bool:
    """Whether the viewport evaluates the modifier, as playing needs. Instanced objects count as shown."""
    layer = bpy.context.view_layer
    if modifier is not None and not modifier.show_viewport:
        return False
    return thing.name not in layer.objects or thing.visible_get(view_layer=layer)


def _add(found: dict[str, Any], thing: Any) -> None:
    if thing.name_full in found or thing.hide_render:
        return
    found[thing.name_full] = thing
    if thing.instance_type == "COLLECTION" and thing.instance_collection:
        for inner in thing.instance_collection.all_objects:
            _add(found, inner)


def _in_layer(branch: Any) -> Iterator[Any]:
    if branch.exclude or branch.collection.hide_render:
        return
    yield from branch.collection.objects
    for inner in branch.children:
        yield from _in_layer(inner)


def _uses(user: Any, thing: Any) -> bool:
    return user != thing and not isinstance(user, (bpy.types.Scene, bpy.types.Collection))
