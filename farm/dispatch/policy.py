"""What a failure means, and which task comes next. Pure rules; the core applies them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from farm.dispatch.covering import cover_of
from farm.dispatch.fitness import device_of, memory_for, trusts
from farm.dispatch.state import Job, Task, Worker
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

_RANK = {
    TaskKind.INSPECT: 0,
    TaskKind.FINISH: 1,
    TaskKind.ENCODE: 1,
    TaskKind.FRAME: 2,
    TaskKind.TILE: 2,
    TaskKind.VERIFY: 2,
}


def class_on(worker: Worker, device: Device) -> RenderClass | None:
    """The render class of pieces that ``worker`` renders on ``device``; None: known only afterwards."""
    if device is Device.AUTO or device.value.upper() == worker.info.device:
        return worker.info.render_class
    return None


def can_render(worker: Worker, device: Device) -> bool:
    """Every worker can render on its CPU; on a GPU only those that have it."""
    return device in (Device.AUTO, Device.CPU) or device.value.upper() == worker.info.device


def may_take(job: Job, task: Task, worker: Worker) -> bool:
    """Could this worker do this task, if both were free?"""
    frame = job.frames.get(task.key.frame) if task.key.frame is not None else None
    settled = None if frame is None else frame.render_class
    device = device_of(job, frame)
    if not trusts(job, worker) or memory_for(job, task, worker) < task.memory:
        return False
    if task.key.kind in (TaskKind.INSPECT, TaskKind.ENCODE):
        return True
    if task.key.kind is TaskKind.FINISH:  # composites on the CPU, for which only the build matters
        return settled is not None and settled.blender == worker.info.render_class.blender
    if not can_render(worker, device):
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
    """May this worker take this task now? One that it failed on before is tried elsewhere first."""
    if not ready(job, task, now) or not may_take(job, task, worker):
        return False
    tried = task.failed_on
    return worker.info.worker_id not in tried or all(
        other.info.worker_id in tried or not may_take(job, task, other) for other in workers
    )


def is_as_others(job: Job, worker: Worker) -> bool:
    """Whether this worker may take of the job whatever any other of its class and device may.

    So where it finds nothing, they need not look: a thousand idle ones would look at a thousand tasks each.
    """
    if (job.plan is not None and job.plan.in_order) or not trusts(job, worker):
        return False
    name = worker.info.worker_id
    return not any(name in task.failed_on or task.memory for task in job.tasks.values()) and not any(
        name in frame.foreign for frame in job.frames.values()
    )


def in_turn(job: Job, worker: Worker, workers: Mapping[str, Worker]) -> bool:
    """May this worker do anything of the job now, where its frames are rendered in order?

    Nothing runs beside a frame. The worker that rendered the last one has the scene played up to there:
    it goes on, unless it is gone, or busy with another job.
    """
    if job.plan is None or not job.plan.in_order:
        return True
    if any(task.attempt is not None for task in job.tasks.values()):
        return False
    bound = workers.get(job.bound or "")
    if bound is None or bound is worker or bound.attempt is not None:
        return True
    return not can_render(bound, job.settings.device)  # it came back as another


def may_open(job: Job, worker: Worker, workers: Collection[Worker], now: float) -> bool:
    """May the job's next frame be opened for this worker?"""
    if job.plan is None or job.opened >= len(job.plan.frame_range):
        return False
    if not can_render(worker, job.settings.device) or not trusts(job, worker):
        return False
    if job.plan.in_order and job.frames:
        return False
    held = sum(task.not_before > now for task in job.tasks.values())
    if held >= len(workers):  # storage is away, or disks are full: the rest would fare no better
        return False
    if job.proves is None and job.adds_to is None:
        return True
    # What waits for a worker of its class is opened all the same, so that its patience can end, but it
    # is not to fill the memory.
    idle = sum(task.state is TaskState.WAITING for task in job.tasks.values())
    return job.plan.frame_range[job.opened] in job.ahead and idle < max(len(workers), 1)


def unknown_ahead(job: Job) -> list[int]:
    """Frames to be opened soon of which the job does not know what the earlier job left; none mostly."""
    if job.plan is None or (job.proves is None and job.adds_to is None) or len(job.ahead) > AHEAD // 2:
        return []
    coming = job.plan.frame_range[job.opened : job.opened + AHEAD]
    return [number for number in coming if number not in job.ahead]


def stranded(job: Job, tasks: Sequence[Task], workers: Collection[Worker], now: float) -> bool:
    """Is a frame with these open tasks stuck in a render class that no live worker offers?

    Only where a worker is here that could render the frame anew; else it just waits for workers.
    """
    if any(task.state is not TaskState.WAITING for task in tasks):
        return False
    if not any(can_render(worker, job.settings.device) for worker in workers):
        return False
    return any(
        ready(job, task, now) and not any(may_take(job, task, worker) for worker in workers) for task in tasks
    )


def in_order(job: Job) -> Iterator[Task]:
    """Open tasks, most urgent first: what frees pieces comes before what makes new ones."""
    return iter(
        sorted(job.tasks.values(), key=lambda t: (_RANK[t.key.kind], t.key.frame or 0, t.key.tile or 0))
    )
