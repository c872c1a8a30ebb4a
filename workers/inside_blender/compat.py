"""Where Blender versions differ. Everything else in this room is written against one shape.

- 5.0 made the compositor a node group of its own with an interface (``scene.compositing_node_group``);
  up to 4.5 it is ``scene.node_tree`` with a Composite node.
- 5.0 gave image settings a ``media_type`` that must be set before the format.
- 5.0 gave File Output nodes ``directory``, ``file_name`` and ``file_output_items``; before, they had
  ``base_path`` and slots.
- 5.0 blurs a guiding buffer where there are volumes; 5.1 always renders large pictures in tiles of its own.
- 5.0 lets the render operator be told which frames to render; before, it took the scene's range.
- 4.4 renamed the sequencer's ``sequences`` to ``strips``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

MULTILAYER = "OPEN_EXR_MULTILAYER"


def version() -> str:
    """As ``5.2.3``."""
    return ".".join(str(number) for number in bpy.app.version)


def renders_by_number() -> bool:
    """Whether the scene's own range, which stamps and drivers show, can stay as it is."""
    return "frame_start" in bpy.ops.render.render.get_rna_type().properties


def render_animation(scene: Any, frame: int) -> set[str]:
    """Render one frame as an animation: only that numbers files as Blender's own command line does.

    Returns the operator's answer; raises RuntimeError with Blender's own words.
    """
    numbers = {"frame_start": frame, "frame_end": frame} if renders_by_number() else {}
    return set(bpy.ops.render.render(animation=True, scene=scene.name, **numbers))


def blurs_volumes() -> bool:
    """Whether pixels of a volume depend on those around them."""
    return bool(bpy.app.version >= (5, 0, 0))


def inner_tile(cycles: Any) -> int:
    """Side asked for of the tiles in which Cycles renders a large picture; 0 where it uses none."""
    if bpy.app.version < (5, 1, 0) and not cycles.use_auto_tile:
        return 0
    return int(cycles.tile_size)


def compositor(scene: Any) -> Any | None:
    """The node tree that composites ``scene``, or None."""
    if hasattr(scene, "compositing_node_group"):
        return scene.compositing_node_group
    return scene.node_tree if scene.use_nodes else None


def compositor_trees() -> Iterator[Any]:
    """Every compositor node tree of the file, nested groups too."""
    for group in bpy.data.node_groups:
        if group.bl_idname == "CompositorNodeTree":
            yield group
    for scene in bpy.data.scenes:
        tree = getattr(scene, "node_tree", None)
        if tree is not None:
            yield tree


def plain_world(world: Any, color: tuple[float, float, float]) -> None:
    """Have ``world``, a new one, shine in one colour: new worlds have nodes from 5.0 on, and none before."""
    if world.node_tree is None:
        world.color = color
    else:
        background = next(node for node in world.node_tree.nodes if node.bl_idname == "ShaderNodeBackground")
        background.inputs["Color"].default_value = (*color, 1.0)


def set_format(settings: Any, file_format: str) -> None:
    """Set an ``ImageFormatSettings`` to ``file_format``, whatever it was before."""
    if hasattr(settings, "media_type"):
        settings.media_type = "MULTI_LAYER_IMAGE" if file_format == MULTILAYER else "IMAGE"
    settings.file_format = file_format


def file_output_directory(node: Any) -> str:
    """The folder a File Output node writes to, as the file says it."""
    return str(node.directory if hasattr(node, "directory") else node.base_path)


def file_output_names(node: Any) -> list[tuple[Any, str]]:
    """(owner, property) of every part of a file name that a File Output node appends to its folder."""
    if hasattr(node, "directory"):
        return [(node, "file_name"), *((item, "name") for item in node.file_output_items)]
    return [(slot, "path") for slot in node.file_slots]


def set_file_output_directory(node: Any, folder: str) -> None:
    """Send a File Output node's files to ``folder``, an absolute path."""
    if hasattr(node, "directory"):
        node.directory = folder
    elif node.format.file_format == MULTILAYER:
        node.base_path = folder + _last_part(node.base_path)  # there the path is the file's own name
    else:
        node.base_path = folder


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def cycles_passes(scene: Any, layer: Any) -> list[tuple[str, str, str]]:
    """(name, channels, kind) of every pass that Cycles renders of ``layer``, by the add-on's own list."""
    from cycles import engine  # type: ignore[import-not-found]  # there once bpy has its add-ons

    return list(engine.list_render_passes(scene, layer))


def strips(scene: Any) -> list[Any]:
    """All strips of a scene's sequencer, those inside meta strips too."""
    editor = scene.sequence_editor
    if editor is None:
        return []
    return list(editor.strips_all if hasattr(editor, "strips_all") else editor.sequences_all)
