"""A trace and a seed made into jobs and workers: what happens to a farm, whatever its policy."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from random import Random

from farm.domain.control import Control
from farm.domain.frames import FrameRange
from farm.domain.job import RenderSettings
from farm.domain.scene import Blob, Finding, LayerReport, SceneManifest, SceneReport, Weight
from farm.domain.tiles import Size
from farm.domain.work import RenderClass, WorkerInfo
from farm.simulate.draw import draw, draw_whole
from farm.simulate.scene import Scene
from farm.simulate.trace import GB, Failures, Jobs, Kind, Trace

#: Seconds of an inspection besides opening the scene.
INSPECTION = 1.0
_STAYS_WHOLE = Finding(
    code="grease-pencil", weight=Weight.NOTE, what="It has Grease Pencil, which is drawn on whole frames."
)
_IN_ORDER = Finding(code="simulation", weight=Weight.NOTE, what="It simulates from frame to frame.")


@dataclass(frozen=True)
class Submitted:
    """A job that comes at `arrival`, in seconds from the start."""

    id: str
    group: str
    user: str
    arrival: float
    frames: int  # from 1 on
    scene: Scene
    cut: bool
    in_order: bool
    control: Control

    @property
    def inspection(self) -> float:
        """Seconds, on a worker of speed 1."""
        return self.scene.load + INSPECTION

    @cached_property
    def work(self) -> float:
        """Seconds of all its frames, each synced once, on one worker of speed 1 that has the scene."""
        return sum(self.scene.whole(number) for number in range(1, self.frames + 1))

    @property
    def settings(self) -> RenderSettings:
        """As its user asked for it."""
        return RenderSettings(frames=str(FrameRange.of(1, self.frames)))

    @cached_property
    def manifest(self) -> SceneManifest:
        """Of one file that is its own."""
        name = hashlib.sha256(self.scene.seed.encode()).hexdigest()
        return SceneManifest(main="scene.blend", files={"scene.blend": Blob(sha256=name, bytes=1)})

    @cached_property
    def report(self) -> SceneReport:
        """What the inspection finds."""
        return SceneReport(
            scene="Scene",
            scenes=("Scene",),
            camera="Camera",
            cameras=("Camera",),
            frame_start=1,
            frame_end=self.frames,
            full_width=self.scene.size.width,
            full_height=self.scene.size.height,
            percentage=100,
            engine="CYCLES",
            samples=128,
            file_format="PNG",
            layers=(LayerReport(name="ViewLayer", passes=("Combined",)),),
            blocks_cutting=() if self.cut else (_STAYS_WHOLE,),
            in_order=(_IN_ORDER,) if self.in_order else (),
            load_seconds=self.scene.load,
        )


@dataclass(frozen=True)
class Machine:
    """A worker of the fleet. `gone` are the spans in which it is not there, in seconds from the start."""

    info: WorkerInfo
    speed: float
    broken: bool
    gone: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Scenario:
    """All that a policy is given, and what it is not told of before."""

    seed: int
    jobs: tuple[Submitted, ...]  # by their arrival
    machines: tuple[Machine, ...]
    failures: Failures

    @property
    def tasks(self) -> int:
        """Frames of all jobs."""
        return sum(job.frames for job in self.jobs)


#: Seconds from the start for which it is drawn when workers come and go; then they stay.
_DRAWN = 14 * 86_400.0


def scenario(trace: Trace, seed: int, workers: int | None = None) -> Scenario:
    """Draw what ``trace`` leaves open, for so many workers, or for as many as it names."""
    jobs = [_job(group, number, seed) for group in trace.jobs for number in range(1, group.count + 1)]
    jobs.sort(key=lambda job: (job.arrival, job.id))
    machines = [
        _machine(kind, number, seed)
        for number, kind in enumerate(_kinds(trace, workers or trace.workers), start=1)
    ]
    return Scenario(seed, tuple(jobs), tuple(machines), trace.failures)


def _job(group: Jobs, number: int, seed: int) -> Submitted:
    name = f"{group.name}x{number}"
    dice = Random(f"{seed}/job/{name}")
    arrival = draw(group.arrival, dice)
    frames = draw_whole(group.frames, dice)
    scene = Scene(
        seed=f"{seed}/scene/{name}",
        load=draw(group.load, dice),
        sync=draw(group.sync, dice),
        render=draw(group.render, dice),
        rest=draw(group.rest, dice),
        finish=draw(group.finish, dice),
        memory=int(draw(group.memory, dice) * GB),
        spread=group.spread,
        uneven=group.uneven,
        size=Size(group.width, group.height),
    )
    return Submitted(
        id=name,
        group=group.name,
        user=group.user,
        arrival=arrival,
        frames=frames,
        scene=scene,
        cut=group.cut,
        in_order=group.in_order,
        control=Control(priority=group.priority, workers=group.workers, other_class=True),
    )


def _kinds(trace: Trace, workers: int) -> list[Kind]:
    """The kind of each worker: as many of each as its share says, in turn."""
    total = sum(kind.share for kind in trace.fleet)
    given = dict.fromkeys(trace.fleet, 0)
    kinds = []
    for number in range(1, workers + 1):
        kind = max(given, key=lambda kind: number * kind.share / total - given[kind])
        given[kind] += 1
        kinds.append(kind)
    return kinds


def _machine(kind: Kind, number: int, seed: int) -> Machine:
    dice = Random(f"{seed}/worker/{number}")
    speed = draw(kind.speed, dice)
    broken = dice.random() < kind.broken
    info = WorkerInfo(
        worker_id=f"{kind.name}-{number}",
        host=f"host-{number}",
        pid=number,
        device="OPTIX",
        device_name=kind.name,
        threads=1,
        memory=64 * GB,
        gpu_memory=int(kind.memory * GB),
        price=kind.price,
        render_class=RenderClass(blender="5.2.3 simulated", device="OPTIX", kernel=kind.name),
        sandboxed=True,
        tags=(kind.name,),
    )
    return Machine(info, speed, broken, _gone(kind, dice))


def _gone(kind: Kind, dice: Random) -> tuple[tuple[float, float], ...]:
    spans, at = [], 0.0
    while kind.stays and at < _DRAWN:
        start = at + dice.expovariate(1 / kind.stays)
        at = start + dice.expovariate(1 / kind.away)
        spans.append((start, at))
    return tuple(spans)
