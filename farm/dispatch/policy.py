"""What a failure means, and which task comes next. Pure rules; the core applies them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from farm.dispatch.state import Job, Task, Worker
from farm.domain.job import Device
from farm.domain.states import TaskState
from farm.domain.task import TaskKind
from farm.domain.work import Cause, RenderClass

MAX_FAILURES = 3
#: A task whose workers keep dying under it is likely to be what kills them.
MAX_LOSSES = 5
#: A job whose first frames all fail is stopped: the rest would fail as well, for money.
HOPELESS_FRAMES = 3

_RANK = {TaskKind.INSPECT: 0, TaskKind.FINISH: 1, TaskKind.FRAME: 2, TaskKind.TILE: 2}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from a failed attempt."""

    stops_job: bool = False
    retry: bool = False
    counts: bool = True  # against the task
    delay: float = 0.0  # seconds


def judge(task: Task, cause: Cause) -> Verdict:
    """The ladder of causes."""
    if cause.stops_job:
        return Verdict(stops_job=True)
    if cause is Cause.STORAGE:
        return Verdict(retry=True, counts=False, delay=min(2.0 * 2**task.stalls, 30.0))
    if cause in (Cause.LOST, Cause.CANCELLED):
        return Verdict(retry=task.losses + 1 < MAX_LOSSES, counts=False)
    delay = 5.0 if cause is Cause.DISK_FULL else 0.0
    return Verdict(retry=task.failures + 1 < MAX_FAILURES, delay=delay)


def class_on(worker: Worker, device: Device) -> RenderClass | None:
    """The render class of pieces that ``worker`` renders on ``device``; None: known only afterwards."""
    if device is Device.AUTO or device.value.upper() == worker.info.device:
        return worker.info.render_class
    return None


def can_render(worker: Worker, device: Device) -> bool:
    """Every worker can render on its CPU; on a GPU only those that have it."""
    return device in (Device.AUTO, Device.CPU) or device.value.upper() == worker.info.device


def fits(job: Job, task: Task, worker: Worker, workers: Collection[Worker], now: float) -> bool:
    """May this worker take this task now?"""
    if task.state is not TaskState.WAITING or task.not_before > now:
        return False
    if task.key.kind is not TaskKind.INSPECT and not can_render(worker, job.settings.device):
        return False
    if worker.info.worker_id in task.failed_on and any(
        other.info.worker_id not in task.failed_on and can_render(other, job.settings.device)
        for other in workers
    ):
        return False  # elsewhere first
    frame = job.frames.get(task.key.frame) if task.key.frame is not None else None
    if frame is None or frame.render_class is None:
        return True
    here = class_on(worker, job.settings.device)
    return here is None or here == frame.render_class


def in_order(job: Job) -> Iterator[Task]:
    """Open tasks, most urgent first: what frees pieces comes before what makes new ones."""
    return iter(
        sorted(job.tasks.values(), key=lambda t: (_RANK[t.key.kind], t.key.frame or 0, t.key.tile or 0))
    )
