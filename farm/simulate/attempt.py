"""What an attempt will be, once a simulated worker has its order: how long each part takes, and how it ends.

It is drawn when it begins; that the attempt may be cancelled, or lose its worker, before it gets there is
the worker's business (`farm.simulate.worker`).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from farm.domain.plan import Cut
from farm.domain.scene import Blob
from farm.domain.task import TaskKind
from farm.domain.work import Cause, Failure, Order, RenderClass, Result, Role, Seconds, StoredFile
from farm.simulate.draw import draw
from farm.simulate.scenario import INSPECTION, Machine, Submitted
from farm.simulate.trace import Failures

#: Seconds of a sync where this worker has rendered some of the same frame just before.
WARM_SYNC = 0.2
#: Half of the tries on a broken worker crash.
_BROKEN = 0.5
#: Seconds until a worker that is told nothing else holds a render process for hung.
_PATIENCE = 900.0
_BLOB = Blob(sha256="1" * 64, bytes=1)
_ROLES = {TaskKind.TILE: Role.PIECE}
_RENDERS = frozenset({TaskKind.FRAME, TaskKind.TILE})


@dataclass(frozen=True)
class Fate:
    """`seconds` are those of all of it, as it ends: shorter than planned where it fails.

    Neither a result nor a failure: its worker dies.
    """

    seconds: Seconds
    result: Result | None = None
    failure: Failure | None = None

    @property
    def ends_process(self) -> bool:
        """Whether the worker's render process is gone after it, with the scene that it had loaded."""
        return self.result is None


@dataclass(frozen=True)
class Warmth:
    """What a worker's render process has: a scene, and the frame that it rendered some of last."""

    scene_id: str | None = None
    frame: tuple[str, int] | None = None


def fate(
    order: Order,
    frame: int | None,
    job: Submitted,
    machine: Machine,
    warm: Warmth,
    rates: Failures,
    dice: Random,
) -> Fate:
    """What comes of ``order``, for that frame of ``job``, on ``machine``."""
    planned = _seconds(order, frame, job, warm)
    if order.kind not in _RENDERS:
        return _well(order, _at_speed(planned, machine.speed), job, machine.info.render_class)
    if job.scene.memory > machine.info.gpu_memory:
        broken_off = Seconds(load=planned.load, sync=planned.sync / 2)
        why = Failure(cause=Cause.OUT_OF_MEMORY, what="The scene does not fit into the GPU's memory.")
        return Fate(_at_speed(broken_off, machine.speed), failure=why)
    if machine.broken and dice.random() < _BROKEN:
        return _broken_off(planned, machine, dice, Cause.CRASH)
    luck = dice.random()
    if luck < rates.crash:
        return _broken_off(planned, machine, dice, Cause.CRASH)
    if luck < rates.crash + rates.hang:
        return _hangs(order, planned, machine, dice)
    if luck < rates.crash + rates.hang + rates.lost:
        return Fate(_at_speed(_part(planned, dice.random()), machine.speed))
    slowed = draw(rates.slow_by, dice) if luck > 1 - rates.slow else 1.0
    slow = planned.model_copy(update={"sync": planned.sync * slowed, "render": planned.render * slowed})
    return _well(order, _at_speed(slow, machine.speed), job, machine.info.render_class)


def _seconds(order: Order, frame: int | None, job: Submitted, warm: Warmth) -> Seconds:
    """Of a worker of speed 1, if all goes well; `total` is left out."""
    scene = job.scene
    load = 0.0 if warm.scene_id == order.scene_id else scene.load
    if order.kind is TaskKind.INSPECT or frame is None:
        return Seconds(load=load, save=INSPECTION)
    if order.kind is TaskKind.FINISH:
        # The pieces are merged while a process of its own opens the scene.
        merge = scene.finish / 2
        return Seconds(
            load=max(scene.load - merge, 0.0), render=merge, save=scene.finish - merge + scene.rest
        )
    sync, render = scene.frame(frame)
    if warm.frame == (job.id, frame) and warm.scene_id == order.scene_id:
        sync = min(sync, WARM_SYNC)
    if order.kind is TaskKind.TILE and order.plan is not None:
        render *= _share(order.plan.piece(_tile(order.task)), job)
    return Seconds(load=load, sync=sync, render=render, save=scene.rest)


def _tile(task: str) -> int:
    return int(task.rpartition("-")[2])


def _share(cut: Cut, job: Submitted) -> float:
    pixels = job.scene.share(cut.tile.rendered)
    return pixels if cut.samples is None else pixels * cut.samples.count / cut.samples.total


def _at_speed(seconds: Seconds, speed: float) -> Seconds:
    load, sync, render, save = (
        part / speed for part in (seconds.load, seconds.sync, seconds.render, seconds.save)
    )
    return Seconds.model_construct(
        fetch=0.0,
        load=load,
        sync=sync,
        render=render,
        save=save,
        store=0.0,
        total=load + sync + render + save,
    )


def _part(seconds: Seconds, share: float) -> Seconds:
    """The first ``share`` of it."""
    left = share * (seconds.load + seconds.sync + seconds.render + seconds.save)
    parts = {}
    for name in ("load", "sync", "render", "save"):
        parts[name] = min(getattr(seconds, name), left)
        left -= parts[name]
    return Seconds(**parts)


def _broken_off(planned: Seconds, machine: Machine, dice: Random, cause: Cause) -> Fate:
    what = Failure(cause=cause, what="Blender crashed.", log_tail="Segmentation fault")
    return Fate(_at_speed(_part(planned, dice.random()), machine.speed), failure=what)


def _hangs(order: Order, planned: Seconds, machine: Machine, dice: Random) -> Fate:
    ran = _at_speed(_part(planned, dice.random()), machine.speed)
    idle = order.patience or _PATIENCE
    silent = _with(ran, render=ran.render + idle)
    return Fate(silent, failure=Failure(cause=Cause.HANG, what="Blender did not go on.", log_tail="silence"))


def _with(seconds: Seconds, **parts: float) -> Seconds:
    """With other parts, and their sum."""
    changed = seconds.model_copy(update=parts)
    total = changed.fetch + changed.load + changed.sync + changed.render + changed.save + changed.store
    return changed.model_copy(update={"total": total})


def _well(order: Order, seconds: Seconds, job: Submitted, render_class: RenderClass) -> Fate:
    if order.kind is TaskKind.INSPECT:
        return Fate(seconds, Result(report=job.report, seconds=seconds, render_class=render_class))
    role = _ROLES.get(order.kind, Role.OUTPUT)
    file = StoredFile.model_construct(
        role=role, name="picture.png", key=f"{order.prefix}picture", blob=_BLOB, media_type="image/png"
    )
    settled = order.render_class if order.kind is TaskKind.FINISH else None
    result = Result(
        files=(file,),
        seconds=seconds,
        render_class=settled or render_class,
        peak_memory=job.scene.memory,
    )
    return Fate(seconds, result)
