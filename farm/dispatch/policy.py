"""Who may do what: the rules of devices, render classes, memory and trust. Pure; the core applies them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from farm.dispatch.covering import cover_of
from farm.dispatch.fitness import device_of, fits_into, memory_on, serves, trusts
from farm.dispatch.state import Job, Task, Worker
from farm.domain.control import Needs
from farm.domain.job import Device
from farm.domain.states import TaskState
from farm.domain.task import TaskKind
from farm.domain.work import RenderClass

#: A job whose first frames all fail is stopped: the rest would fail as well, for money.
HOPELESS_FRAMES = 3
#: Of how many frames to come a job knows what an earlier job left of them.
AHEAD = 256
#: Seconds that a frame's pieces wait for a worker of their render class, which may only be restarting.
CLASS_PATIENCE = 60.0


def class_on(worker: Worker, device: Device) -> RenderClass | None:
    """The render class of pieces that ``worker`` renders on ``device``; None: known only afterwards."""
    if device is Device.AUTO or device.value.upper() == worker.info.device:
        return worker.info.render_class
    return None


def can_render(worker: Worker, device: Device) -> bool:
    """Every worker can render on its CPU; on a GPU only those that have it."""
    return device in (Device.AUTO, Device.CPU) or device.value.upper() == worker.info.device


def meets(worker: Worker, needs: Needs, device: Device) -> bool:
    """Whether the worker has what a job asks of those that render it, on ``device``."""
    return memory_on(worker, device) >= needs.memory and set(needs.tags) <= set(worker.info.tags)


def may_take(job: Job, task: Task, worker: Worker) -> bool:
    """Could this worker do this task, if both were free?"""
    return fits_into(job, task, worker) and suits(job, task, worker)


def suits(job: Job, task: Task, worker: Worker) -> bool:
    """Could this worker do this task, if both were free and it fitted into its memory?"""
    frame = job.frames.get(task.key.frame) if task.key.frame is not None else None
    settled = None if frame is None else frame.render_class
    device = device_of(job, frame)
    if not trusts(job, worker):
        return False
    if task.key.kind in (TaskKind.INSPECT, TaskKind.ENCODE):
        return True
    if task.key.kind is TaskKind.FINISH:  # composites on the CPU, for which only the build matters
        return settled is not None and settled.blender == worker.info.render_class.blender
    if not can_render(worker, device) or not meets(worker, job.control.needs, device):
        return False
    if task.key.kind is TaskKind.FRAME:  # it takes no piece of another class in, whatever else is tried
        return True
    if frame is None or settled is None:
        return (
            task.key.kind is not TaskKind.VERIFY
        )  # which is in the class of what it verifies, or not at all
    if worker.info.worker_id in frame.foreign:
        return False
    return class_on(worker, device) in (None, settled)


def ready(job: Job, task: Task, now: float) -> bool:
    """Does this task wait for nothing but a worker?"""
    if task.state is not TaskState.WAITING or task.not_before > now:
        return False
    if task.key.kind is not TaskKind.FINISH:
        return True
    frame = None if task.key.frame is None else job.frames.get(task.key.frame)
    return frame is not None and cover_of(job, frame) is not None


def fits(job: Job, task: Task, worker: Worker, workers: Collection[Worker], now: float) -> bool:
    """May this worker take this task now? One that it failed on before is tried elsewhere first: where
    another of ``workers`` serves that has not.
    """
    if not ready(job, task, now) or not may_take(job, task, worker):
        return False
    tried = task.failed_on
    return worker.info.worker_id not in tried or all(
        other.info.worker_id in tried or not serves(other) or not may_take(job, task, other)
        for other in workers
    )


def in_turn(job: Job, worker: Worker, workers: Mapping[str, Worker]) -> bool:
    """May this worker do anything of the job now, where its frames are rendered in order?

    Nothing runs beside a frame. The worker that rendered the last one has the scene played up to there:
    it goes on, unless it is gone, or busy with another job, or given nothing of this one.
    """
    if job.plan is None or not job.plan.in_order:
        return True
    if any(task.attempt is not None for task in job.tasks.values()):
        return False
    bound = workers.get(job.bound or "")
    if bound is None or bound is worker or bound.attempt is not None:
        return True
    device = job.settings.device
    if not serves(bound) or not trusts(job, bound):
        return True
    return not (
        can_render(bound, device) and meets(bound, job.control.needs, device)
    )  # it came back as another


def unknown_ahead(job: Job) -> list[int]:
    """Frames to be opened soon of which the job does not know what the earlier job left; none mostly."""
    plan = job.plan
    if plan is None or (job.proves is None and job.adds_to is None):
        return []
    if len(job.ahead) > AHEAD // 2:
        return list(job.again)[:AHEAD]
    coming = (plan.frame_at(index) for index in range(job.opened, min(job.opened + AHEAD, plan.count)))
    return [*list(job.again)[:AHEAD], *(number for number in coming if number not in job.ahead)]


def stranded(job: Job, tasks: Sequence[Task], able: Collection[Worker], now: float) -> bool:
    """Is a frame with these open tasks stuck in a render class that none of these workers offers?"""
    if any(task.state is not TaskState.WAITING for task in tasks):
        return False
    kinds = {task.key.kind: task for task in tasks if ready(job, task, now)}  # what one asks, all of it do
    return any(not any(suits(job, task, worker) for worker in able) for task in kinds.values())
