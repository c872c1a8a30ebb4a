"""Counts the frames that Blender has written to a movie."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import bpy

from workers.inside_blender.progress import INTERVAL
from workers.protocol import Count


class Written:
    """Context manager around an animation of ``total`` frames: tells how many are written."""

    def __init__(
        self, send: Callable[[Count], None], total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._total = total
        self._clock = clock
        self._written = 0
        self._sent_at = -INTERVAL

    def __enter__(self) -> Written:
        bpy.app.handlers.render_write.append(self._wrote)
        self._send(Count("encoding", 0, self._total))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        bpy.app.handlers.render_write.remove(self._wrote)

    def _wrote(self, *_: Any) -> None:
        self._written += 1
        now = self._clock()
        if now - self._sent_at >= INTERVAL or self._written == self._total:
            self._sent_at = now
            self._send(Count("encoding", self._written, self._total))
