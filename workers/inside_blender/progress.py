"""What Cycles counts, read from Blender's ``render_stats`` handler.

Measured with bpy 5.2.3: a render gives, per view layer and view, lines such as
``Mem: 1M | Updating Objects``, then ``Remaining: 00:05 | Mem: 13M | Sample 1/64``, then
``Mem: 13M | Finished``; then ``Compositing`` where there is a compositor, and at the end
``Time: 00:08.49 (Saving: 00:00.12)``. Frames above Cycles' tile size give
``Rendered 2/6 Tiles, Sample 3/64``. Handlers run on Blender's own threads, and an exception in one is
only printed. (``composite_pre`` and ``composite_post`` are not called in a background render.)
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import bpy

from workers.protocol import Count

_SAMPLE = re.compile(r"Sample (\d+)/(\d+)")
_TILES = re.compile(r"Rendered (\d+)/(\d+) Tiles")
_SAVING = re.compile(r"\(Saving: (?:(\d+):)?(\d+):(\d+\.\d+)\)")
INTERVAL = 0.25  # seconds between counts of one phase

#: Which of the four durations a phase counts for.
_BUCKETS = {"syncing": "sync", "rendering": "render", "compositing": "render", "saving": "save"}


class Watch:
    """Context manager around a render: sends counts and adds up where the time went.

    ``layers`` are the view layers in the order in which they render, each ``views`` times; with
    ``composites`` a compositor works on them before anything is saved.
    """

    def __init__(
        self,
        send: Callable[[Count], None],
        layers: Sequence[str],
        views: int = 1,
        *,
        composites: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds: dict[str, float] = {"sync": 0.0, "render": 0.0, "save": 0.0}
        self._send = send
        self._layers = layers
        self._views = max(1, views)
        self._last_phase = "compositing" if composites else "saving"
        self._clock = clock
        #: The sample at which each render ended, of each view of each layer; 0 where inner tiles hide it.
        self.ended: list[int] = []
        self._last_sample = 0
        self._finished = 0
        self._phase = "syncing" if layers else "rendering"  # strips and nodes alone have nothing to sync
        self._since = 0.0
        self._sent_at = 0.0
        self._pending: Count | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()

    def __enter__(self) -> Watch:
        self._since = self._clock()
        bpy.app.handlers.render_stats.append(self._stats)
        self._tell(Count(self._phase, layer=self._layer()))
        threading.Thread(target=self._flush, name="counts", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        with self._lock:
            self._pending = None  # nothing may follow the answer
        self._enter(self._phase)
        bpy.app.handlers.render_stats.remove(self._stats)

    def _layer(self) -> str:
        index = self._finished // self._views
        return self._layers[index] if index < len(self._layers) else ""

    def _enter(self, phase: str) -> None:
        now = self._clock()
        self.seconds[_BUCKETS[self._phase]] += now - self._since
        self._since, self._phase = now, phase

    def _tell(self, count: Count, *, now: bool = True) -> None:
        """Send ``count`` now, or else at most `INTERVAL` after the one before, if no newer one comes."""
        with self._lock:
            if not now and self._clock() - self._sent_at < INTERVAL:
                self._pending = count
                return
            self._pending, self._sent_at = None, self._clock()
            self._send(count)

    def _flush(self) -> None:
        """Cycles reports seldom while it renders many samples at once: the last count must not wait."""
        while not self._over.wait(INTERVAL):
            with self._lock:
                if self._pending is not None:
                    self._send(self._pending)
                    self._pending, self._sent_at = None, self._clock()

    def _stats(self, text: Any, *_: Any) -> None:
        text = str(text)
        if found := _SAMPLE.search(text):
            self._sample(int(found[1]), int(found[2]), _TILES.search(text))
        elif text.endswith("Finished"):
            self._finished += 1
            self.ended.append(self._last_sample)
            self._last_sample = 0
            done = self._finished >= len(self._layers) * self._views
            self._enter(self._last_phase if done else "syncing")
            self._tell(Count(self._phase, layer=self._layer()))
        elif text.startswith("Compositing"):
            if self._phase != "compositing":
                self._enter("compositing")
                self._tell(Count("compositing"))
        elif self._phase == "rendering" and "Synchronizing" in text:
            self._enter("syncing")
        elif found := _SAVING.search(text):
            self._saved(int(found[1] or 0) * 3600 + int(found[2]) * 60 + float(found[3]))

    def _saved(self, seconds: float) -> None:
        """Take what Blender says the saving took out of the phase that it ended."""
        bucket = _BUCKETS[self._phase]
        self._enter("saving")
        if bucket != "save":
            seconds = min(seconds, self.seconds[bucket])
            self.seconds[bucket] -= seconds
            self.seconds["save"] += seconds

    def _sample(self, sample: int, samples: int, tiles: Any) -> None:
        first = self._phase != "rendering"
        if first:
            self._enter("rendering")
        if sample and not tiles:  # a render that is over says 0 once more
            self._last_sample = sample
        if tiles:  # of the layer: whole tiles done, and the samples of the one at work
            sample = (int(tiles[1]) * samples + sample) // int(tiles[2])
        count = Count("rendering", min(sample, samples), samples, self._layer())
        self._tell(count, now=first or sample == samples)
