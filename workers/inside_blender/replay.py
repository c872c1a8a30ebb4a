"""A render engine that renders nothing: it puts a merged frame's passes where Cycles would have.

With it, Blender composites, stamps and saves a merged frame by its own code, on the scene's own node
tree: nested groups, Cryptomatte nodes, File Output nodes and multilayer files need no rewiring and
come out as from a direct render. Scenes that the compositor takes from other Render Layers nodes render
with their own engine.
"""

from __future__ import annotations

from typing import Any, ClassVar

import bpy
import numpy as np

from workers.inside_blender import compat, counts, denoise, exr

#: Text attributes of an EXR that Cycles gave, and that files saved from the frame should carry too.
_STAMPS = ("cycles.", "cryptomatte/")


class Replay(bpy.types.RenderEngine):  # type: ignore[misc]  # bpy has no types
    """The engine. What it replays is set on the class, as Blender makes the instances."""

    bl_idname = "TESSERA_REPLAY"
    bl_label = "Tessera replay"
    bl_use_postprocess = True

    merged: ClassVar[str] = ""
    header: ClassVar[exr.Header] = exr.Header()
    denoised: ClassVar[denoise.Denoised] = {}
    totals: ClassVar[dict[str, int]] = {}  # samples of each layer that is sampled adaptively
    #: What went wrong inside a callback: Blender prints exceptions there and goes on.
    error: ClassVar[Exception | None] = None

    def update_render_passes(self, scene: Any = None, renderlayer: Any = None) -> None:
        """Declare the passes that Cycles would: sockets and links of the node tree stay as they are."""
        for name, channels, kind in compat.cycles_passes(scene, renderlayer):
            self.register_pass(scene, renderlayer, name, len(channels), channels, kind)

    def render(self, depsgraph: Any) -> None:
        """Fill one view layer of the render result."""
        cls = type(self)
        name = depsgraph.view_layer_eval.name
        try:
            self._fill(name)
        except Exception as error:  # noqa: BLE001 - told by `finish` after the render
            cls.error = error
            self.report({"ERROR"}, str(error))

    def _fill(self, name: str) -> None:
        header = self.header
        whole = self.get_result()  # of the render region, where the scene has one
        if (whole.resolution_x, whole.resolution_y) != (header.width, header.height):
            raise ValueError(
                f"the merged frame is {header.width}×{header.height} pixels, the scene renders "
                f"{whole.resolution_x}×{whole.resolution_y}"
            )
        for view in whole.views:
            self.active_view_set(view.name)
            result = self.begin_result(0, 0, header.width, header.height, layer=name, view=view.name)
            result.load_from_file(self.merged)
            for layer in result.layers:
                if layer.name == name:
                    denoised = self.denoised.get((name, view.name), {})
                    self._check_passes(layer, {denoise.NOISY[there] for there in denoised})
                    self._denoise(layer, denoised)
                    self._count(layer)
            self.end_result(result)
        for field, text in header.texts.items():  # the metadata of a layer's own result is not taken over
            if field.startswith(_STAMPS):
                whole.stamp_data_add_field(field, text)

    def _check_passes(self, layer: Any, made_here: set[str]) -> None:
        """Blender leaves a pass that the file lacks black, and only logs it."""
        for there in layer.passes:
            if not exr.reads_back(f"{layer.name}.{there.fullname}"):
                raise ValueError(f"the name {layer.name}.{there.fullname} is longer than Blender reads back")
        stored = {channel.rpartition(".")[0] for channel in self.header.channels}
        lacking = [
            there.fullname
            for there in layer.passes
            if there.name not in made_here and f"{layer.name}.{there.fullname}" not in stored
        ]
        if lacking:
            raise ValueError(f"it has no pass {', '.join(sorted(lacking))} of “{layer.name}”")

    def _denoise(self, layer: Any, denoised: dict[str, np.ndarray]) -> None:
        """Put denoised pixels into their passes, and what these held into the noisy ones."""
        passes = {there.name: there for there in layer.passes}
        for name, pixels in denoised.items():
            noisy = np.empty(pixels.size, dtype=np.float32)
            passes[name].rect.foreach_get(noisy)
            passes[denoise.NOISY[name]].rect.foreach_set(noisy)
            passes[name].rect.foreach_set(pixels.ravel())

    def _count(self, layer: Any) -> None:
        """Put adaptive sampling's counts as Cycles would have: shares of the sample at which it ended."""
        total = self.totals.get(layer.name)
        for there in layer.passes:
            if total and there.name == counts.PASS:
                stored = np.empty(self.header.width * self.header.height, dtype=np.float32)
                there.rect.foreach_get(stored)
                there.rect.foreach_set(counts.as_cycles_ended(stored, total))


def register() -> None:
    """Make the engine known to Blender; harmless when it is already."""
    if not hasattr(bpy.types, Replay.__name__) and not Replay.is_registered:
        bpy.utils.register_class(Replay)
