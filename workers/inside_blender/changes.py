"""Settings changed for one request and given back after it, so that a warm process stays the scene's.

Restoring runs newest first. Image format settings depend on each other's order, so they are lent as a
whole with `Changes.lend_format`.
"""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Any

#: In the order in which they can be set: each narrows the choices of those after it.
FORMAT_SETTINGS = (
    "media_type",
    "file_format",
    "color_mode",
    "color_depth",
    "exr_codec",
    "quality",
    "compression",
    "use_preview",
    "use_exr_interleave",
    "views_format",
    "color_management",
)


class Changes:
    """Context manager: what `set` changes is as before when it ends, also after an error."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Changes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set ``owner.name`` until the end. Array values are copied before they change."""
        before = getattr(owner, name)
        if before == value:
            return
        if hasattr(before, "__len__") and not isinstance(before, str):
            before = tuple(before)
        setattr(owner, name, value)
        self._stack.callback(_put_back, owner, name, before)

    def set_if_there(self, owner: Any, name: str, value: Any) -> None:
        """`set` where this Blender's ``owner`` has the property; nothing otherwise."""
        if hasattr(owner, name):
            self.set(owner, name, value)

    def lend_format(self, settings: Any) -> Any:
        """``settings`` (an ``ImageFormatSettings``) to be changed at will until the end."""
        linear = getattr(settings, "linear_colorspace_settings", None)
        if linear is not None:  # put back last: a change of format chooses it anew
            self._stack.callback(_put_back, linear, "name", linear.name)
        before = [(name, getattr(settings, name)) for name in FORMAT_SETTINGS if hasattr(settings, name)]
        self._stack.callback(_put_all_back, settings, before)
        return settings

    def undo(self, call: Any, *args: Any) -> None:
        """Run ``call(*args)`` at the end, with the other restorations."""
        self._stack.callback(call, *args)


def _put_back(owner: Any, name: str, value: Any) -> None:
    # An enum of a format that this Blender no longer has reads as "" and cannot be written back.
    with contextlib.suppress(TypeError):
        setattr(owner, name, value)


def _put_all_back(owner: Any, values: list[tuple[str, Any]]) -> None:
    for name, value in values:
        _put_back(owner, name, value)
