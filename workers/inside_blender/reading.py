"""Reads passes out of a merged frame: through a render engine, the one door that Blender's Python has.

The engine renders a scene of its own, which is empty, so that nothing is evaluated and no pass is added
to the artist's picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import bpy
import numpy as np

from workers.child import Refusal
from workers.inside_blender import content, exr
from workers.inside_blender.causes import BAD_RESULT, from_blender

#: What is done with a layer's passes: layer, view (empty where there is but one), pixels by pass.
Take = Callable[[str, str, Mapping[str, np.ndarray]], None]
_LEAST = 4  # pixels of a side that can be set
_KINDS = {"X": "VALUE", "XYZ": "VECTOR"}


class Reader(bpy.types.RenderEngine):  # type: ignore[misc]  # bpy has no types
    """The engine. What it reads is set on the class, as Blender makes the instances."""

    bl_idname = "TESSERA_READER"
    bl_label = "Tessera reader"

    merged: ClassVar[str] = ""
    wanted: ClassVar[dict[str, dict[str, str]]] = {}  # layer → pass → channels
    take: ClassVar[Take | None] = None
    #: What went wrong inside a callback: Blender prints exceptions there and goes on.
    error: ClassVar[Exception | None] = None

    def update_render_passes(self, scene: Any = None, renderlayer: Any = None) -> None:
        """Declare the passes to be read."""
        for name, channels in self.wanted.get(renderlayer.name, {}).items():
            self.register_pass(
                scene, renderlayer, name, len(channels), channels, _KINDS.get(channels, "COLOR")
            )

    def render(self, depsgraph: Any) -> None:
        """Read one view layer, every view of it."""
        cls = type(self)
        try:
            for view in [view.name for view in self.get_result().views]:
                self.active_view_set(view)
                self._read(depsgraph.view_layer_eval.name, view)
        except Exception as error:  # noqa: BLE001 - told by `read` after the render
            cls.error = error
            self.report({"ERROR"}, str(error))

    def _read(self, layer: str, view: str) -> None:
        width, height = self.resolution_x, self.resolution_y
        result = self.begin_result(0, 0, width, height, layer=layer, view=view)
        try:
            result.load_from_file(self.merged)
            passes = {}
            for there in next(found for found in result.layers if found.name == layer).passes:
                pixels = np.empty(width * height * there.channels, dtype=np.float32)
                there.rect.foreach_get(pixels)
                passes[there.name] = pixels.reshape(height, width, there.channels)
        finally:
            self.end_result(result, cancel=True)
        take = type(self).take
        if take is not None:
            take(layer, view, passes)


def read(scene: Any, merged: str, header: exr.Header, wanted: dict[str, dict[str, str]], take: Take) -> None:
    """Give the ``wanted`` passes (layer → pass → channels) of a merged frame to ``take``, layer by layer.

    Pixels are float32 of (height, width, channels), rows bottom-up. ``scene`` says which views there are.
    Raises `Refusal` (bad-result) for passes that the file lacks, and what ``take`` raises.
    """
    for layer, passes in wanted.items():
        for name in passes:
            if not any(channel.startswith(f"{layer}.{name}.") for channel in header.channels):
                raise Refusal(BAD_RESULT, f"The merged frame has no pass “{name}” of “{layer}” to denoise.")
    if not Reader.is_registered:
        bpy.utils.register_class(Reader)
    Reader.merged, Reader.wanted, Reader.take, Reader.error = merged, wanted, staticmethod(take), None
    try:
        with _empty_scene(scene, header, wanted) as helper:
            bpy.ops.render.render(scene=helper.name)
    except RuntimeError as error:
        if Reader.error is None:
            raise from_blender(error, "the reading of the merged frame") from error
    finally:
        Reader.take = None
    if Reader.error is not None:
        raise Reader.error


@contextmanager
def _empty_scene(scene: Any, header: exr.Header, names: Iterable[str]) -> Iterator[Any]:
    """A scene of the merged frame's size with view layers of these ``names`` and the views of ``scene``."""
    helper = bpy.data.scenes.new("Tessera reader")
    cameras: list[Any] = []
    try:
        render = helper.render
        render.engine = Reader.bl_idname
        _resize(render, header.width, header.height)
        render.use_compositing = render.use_sequencer = render.use_stamp = False
        for index, name in enumerate(names):
            layer = helper.view_layers[0] if index == 0 else helper.view_layers.new(name)
            layer.name = name
        _copy_views(scene.render, render)
        for view in content.views(helper) or [None]:
            camera = bpy.data.cameras.new("Tessera reader")
            cameras.append(bpy.data.objects.new(f"Tessera{view.camera_suffix if view else ''}", camera))
            helper.collection.objects.link(cameras[-1])
        helper.camera = cameras[0]
        yield helper
    finally:
        bpy.data.scenes.remove(helper)
        for thing in cameras:
            bpy.data.cameras.remove(thing.data)


def _resize(render: Any, width: int, height: int) -> None:
    """Of a region a picture can have fewer pixels than Blender lets a scene have."""
    larger = 1 if min(width, height) >= _LEAST else _LEAST
    render.resolution_x, render.resolution_y = width * larger, height * larger
    render.resolution_percentage = 100 // larger


def _copy_views(source: Any, target: Any) -> None:
    target.use_multiview = source.use_multiview
    if not source.use_multiview:
        return
    target.views_format = source.views_format
    for view in target.views:  # a new scene has left and right
        view.use = False
    for view in source.views:
        copy = target.views.get(view.name) or target.views.new(view.name)
        copy.use, copy.camera_suffix, copy.file_suffix = view.use, view.camera_suffix, view.file_suffix
