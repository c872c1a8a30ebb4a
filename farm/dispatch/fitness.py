"""Whether a worker is fit for something: is it trusted with it, and does it fit into its memory?"""

from __future__ import annotations

from farm.dispatch.state import Frame, Job, Task, Worker
from farm.domain.job import Device
from farm.domain.task import TaskKind

#: These run on the CPU, whatever their job renders on.
_ON_CPU = frozenset({TaskKind.INSPECT, TaskKind.FINISH, TaskKind.ENCODE})


def serves(worker: Worker) -> bool:
    """Whether this worker is given anything at all: it is neither away, nor set aside, nor being probed."""
    return not (worker.info.away or worker.aside or worker.probing)


def trusts(job: Job, worker: Worker) -> bool:
    """Whether this worker is given anything of the job: it is not set aside, nor being probed."""
    return not worker.aside and not worker.probing and job.id not in worker.barred


def device_of(job: Job, frame: Frame | None) -> Device:
    """What a frame is rendered on, and verified: its job's device, unless it left that for more memory."""
    asked = job.settings.device
    if frame is None:
        return asked
    if frame.device is not None:
        return frame.device
    settled = frame.render_class
    if job.proves is not None and settled is not None and settled.device == "CPU":
        return asked if asked is Device.AUTO else Device.CPU
    return asked


def memory_on(worker: Worker, device: Device) -> int:
    """Bytes that a scene has to fit into where this worker renders it on ``device``."""
    return worker.info.memory if device is Device.CPU else worker.info.render_memory


def memory_for(job: Job, task: Task, worker: Worker, *, host: bool = False) -> int:
    """Bytes that this worker has for a task; ``host``: that its machine has."""
    if host or task.key.kind in _ON_CPU:
        return memory_on(worker, Device.CPU)
    frame = None if task.key.frame is None else job.frames.get(task.key.frame)
    return memory_on(worker, device_of(job, frame))


def fits_into(job: Job, task: Task, worker: Worker) -> bool:
    """Whether this worker has the memory that a task is known to need."""
    return memory_for(job, task, worker) >= task.memory and worker.info.memory >= task.host_memory
