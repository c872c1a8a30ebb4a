"""Two plain ways to share a farm, to compare ours with: first come, first served.

`whole-fifo` gives each idle worker the next whole frame of the job that came first. `fixed-chunks` hands
frames out in chunks of ten, of which each belongs to one worker. Neither cuts a frame, knows priorities or
users, or races anything.

What they are spared, so that the comparison is not too easy: they know beforehand how much memory a scene
needs, a frame that failed is tried again at once and without end, and a chunk that lost its worker goes on
with another at the frame where it broke off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.instructions import Instruction
from farm.domain import keys
from farm.domain.costs import Span
from farm.domain.plan import Plan
from farm.domain.states import AttemptState, JobState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure, Order, WorkerInfo
from farm.simulate.scenario import Submitted

#: Frames of a chunk.
CHUNK = 10


@dataclass
class _Worker:
    info: WorkerInfo
    attempt: str | None = None
    chunk: deque[TaskKey] = field(default_factory=deque)  # that it is at


@dataclass
class _Job:
    submitted: Submitted
    plan: Plan
    waiting: deque[deque[TaskKey]]  # chunks
    left: int  # tasks that are not done, its inspection among them
    running: int = 0


class PlainHead:
    """First come, first served, in chunks of so many frames."""

    listens = False

    def __init__(self, chunk: int) -> None:
        self._chunk = chunk
        self._jobs: dict[str, _Job] = {}
        self._workers: dict[str, _Worker] = {}
        self._attempts: dict[str, tuple[TaskKey, str]] = {}
        self._numbers = count(1)

    def submit(self, job: Submitted, now: float) -> Sequence[Instruction]:
        del now
        size = job.scene.size
        plan = Plan(frames=f"1-{job.frames}", width=size.width, height=size.height, reason="whole frames")
        inspection = deque([TaskKey(job.id, TaskKind.INSPECT)])
        self._jobs[job.id] = _Job(job, plan, deque([inspection]), job.frames + 1)
        return [do.JobChanged(job.id, JobState.WAITING)]

    def hear(self, event: told.Event, now: float) -> Sequence[Instruction]:
        del now
        match event:
            case told.WorkerJoined(info):
                self._workers[info.worker_id] = _Worker(info)
            case told.WorkerLost(worker_id):
                worker = self._workers.pop(worker_id)
                if (attempt_id := worker.attempt) is not None:
                    key = self._again(attempt_id, worker)
                    lost = Failure(cause=Cause.LOST, what=f"{worker_id} died.")
                    return [do.AttemptEnded(attempt_id, key, worker_id, AttemptState.LOST, failure=lost)]
                if worker.chunk:
                    self._give_back(worker)
            case told.Succeeded(attempt_id):
                return self._succeeded(event, attempt_id)
            case told.Failed(attempt_id, failure):
                _, worker_id = self._attempts[attempt_id]
                key = self._again(attempt_id, self._workers[worker_id])
                return [do.AttemptEnded(attempt_id, key, worker_id, AttemptState.FAILED, failure=failure)]
        return []

    def assign(self, now: float) -> Sequence[Instruction]:
        del now
        out: list[Instruction] = []
        for worker in self._workers.values():
            if worker.attempt is None and (key := self._next(worker)) is not None:
                out += self._start(key, worker)
        return out

    def says(self) -> Iterator[tuple[str, Span]]:
        return iter(())

    def _succeeded(self, event: told.Succeeded, attempt_id: str) -> list[Instruction]:
        key, worker_id = self._attempts.pop(attempt_id)
        self._workers[worker_id].attempt = None
        job = self._jobs[key.job_id]
        job.running -= 1
        job.left -= 1
        if key.kind is TaskKind.INSPECT:
            job.waiting.extend(self._chunks(job))
        out: list[Instruction] = [
            do.AttemptEnded(attempt_id, key, worker_id, AttemptState.DONE, result=event.result)
        ]
        if not job.left:
            del self._jobs[key.job_id]
            out.append(do.JobChanged(key.job_id, JobState.DONE))
        return out

    def _chunks(self, job: _Job) -> list[deque[TaskKey]]:
        frames = [
            TaskKey(job.submitted.id, TaskKind.FRAME, number) for number in range(1, job.submitted.frames + 1)
        ]
        side = len(frames) if job.submitted.in_order else self._chunk
        return [deque(frames[start : start + side]) for start in range(0, len(frames), side)]

    def _again(self, attempt_id: str, worker: _Worker) -> TaskKey:
        """What was tried is tried elsewhere, with what else of its chunk is left."""
        key, _ = self._attempts.pop(attempt_id)
        worker.attempt = None
        worker.chunk.appendleft(key)
        self._jobs[key.job_id].running -= 1
        self._give_back(worker)
        return key

    def _give_back(self, worker: _Worker) -> None:
        chunk, worker.chunk = worker.chunk, deque()
        self._jobs[chunk[0].job_id].waiting.appendleft(chunk)

    def _next(self, worker: _Worker) -> TaskKey | None:
        if not worker.chunk:
            for job in self._jobs.values():
                if job.waiting and self._may(job, worker):
                    worker.chunk = job.waiting.popleft()
                    break
        return worker.chunk.popleft() if worker.chunk else None

    def _may(self, job: _Job, worker: _Worker) -> bool:
        most = job.submitted.control.workers
        if most is not None and job.running >= most:
            return False
        return job.submitted.scene.memory <= worker.info.gpu_memory

    def _start(self, key: TaskKey, worker: _Worker) -> list[Instruction]:
        job, attempt_id = self._jobs[key.job_id], f"a{next(self._numbers)}"
        job.running += 1
        worker.attempt = attempt_id
        self._attempts[attempt_id] = (key, worker.info.worker_id)
        manifest = job.submitted.manifest
        order = Order(
            attempt_id=attempt_id,
            task=str(key),
            kind=key.kind,
            scene_id=manifest.scene_id,
            manifest=manifest,
            settings=job.submitted.settings,
            prefix=keys.attempt_prefix(key, attempt_id),
            plan=None if key.kind is TaskKind.INSPECT else job.plan,
        )
        return [
            do.AttemptStarted(attempt_id, key, worker.info.worker_id),
            do.SendOrder(worker.info.worker_id, order),
        ]
