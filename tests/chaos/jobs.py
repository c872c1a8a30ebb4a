"""The jobs of a run, as a user sends them: over HTTP, and again where the farm was away."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from farm.assets.pack import pack
from farm.client.client import FarmClient
from farm.domain.errors import StorageFull, Unavailable
from farm.domain.job import JobSpec, RenderSettings
from farm.domain.states import JOB_ENDED
from farm.domain.views import JobView

_PATIENCE = 120.0  # seconds that the farm may be away, to a user who tries again


@dataclass(frozen=True)
class Errand:
    """A scene of ours, and how it is to be rendered."""

    scene: str
    frames: str
    scale: int
    samples: int
    tiles: str = "none"
    split: str = "tiles"
    video: bool = False

    @property
    def settings(self) -> RenderSettings:
        return RenderSettings(
            frames=self.frames,
            scale=self.scale,
            samples=self.samples,
            tiles=self.tiles,
            split=self.split,
            video=self.video,
        )

    @property
    def picture(self) -> tuple[str, int, int]:
        """What decides how its frames look."""
        return self.scene, self.scale, self.samples


#: At most 120x68 and 100x100 pixels; each takes two workers of one thread about three to eight seconds.
#: Samples are powers of two: with others, a denoised frame in tiles is not the whole one bit for bit.
ERRANDS = (
    Errand("turntable", "1-8", 30, 16),
    Errand("turntable", "1-6", 30, 16, tiles="2x1"),
    Errand("turntable", "1-4", 30, 16, video=True),
    Errand("lens", "1-4", 25, 16, tiles="2x2"),
    Errand("lens", "1-6", 25, 16, tiles="auto"),
    Errand("layers", "1-3", 25, 8, tiles="2x1"),
    Errand("layers", "1-4", 25, 8),
)


def draw(dice: random.Random, count: int) -> list[Errand]:
    """``count`` different errands; at least one is cut, so that merge and finish are met."""
    chosen = dice.sample(ERRANDS, count)
    if not any("x" in errand.tiles for errand in chosen):
        chosen[0] = dice.choice([errand for errand in ERRANDS if "x" in errand.tiles])
    return chosen


def submit(client: FarmClient, scene: Path, errand: Errand, name: str) -> str:
    """The id of the one job of this ``name``, whatever happens on the way there.

    A job is not sent again before it is sure that it did not arrive: that is a user's look at the list.
    """
    packed = pack(scene)
    reference = patiently(lambda: client.upload_scene(packed.manifest, packed.root))
    spec = JobSpec(name=name, scene_id=reference.scene_id, settings=errand.settings)

    def once() -> str:
        for job in client.jobs():
            if job.name == name:
                return job.id
        return client.submit(spec).id

    return patiently(once)


def until_ended(client: FarmClient, job_id: str, seconds: float) -> JobView:
    """The job once it has ended, or as it is after so long."""
    deadline = time.monotonic() + seconds
    while True:
        job = patiently(lambda: client.job(job_id))
        if job.state in JOB_ENDED or time.monotonic() > deadline:
            return job
        time.sleep(0.2)


def patiently[T](call: Callable[[], T]) -> T:
    """What ``call`` gives; while the farm is away, or its disk full, it is called again, for two minutes."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return call()
        except (Unavailable, StorageFull):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
