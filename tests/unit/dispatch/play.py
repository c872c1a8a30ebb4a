"""Plays a farm against the core: applies instructions to a model of the database and checks it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.core import Core
from farm.dispatch.state import Job, State
from farm.domain.job import RenderSettings
from farm.domain.scene import Blob, LayerReport, SceneManifest, SceneReport
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import (
    Cause,
    Failure,
    Order,
    RenderClass,
    Result,
    Role,
    Seconds,
    StoredFile,
    WorkerInfo,
)

AVX2 = RenderClass(blender="5.2.3 abc", device="CPU", kernel="avx2")
SSE = RenderClass(blender="5.2.3 abc", device="CPU", kernel="sse42")
MANIFEST = SceneManifest(main="a.blend", files={"a.blend": Blob(sha256="0" * 64, bytes=1)})


def report(**changes: object) -> SceneReport:
    """A plain Cycles scene of 24 frames at 640×360."""
    values: dict[str, object] = {
        "scene": "Scene",
        "scenes": ("Scene",),
        "camera": "Camera",
        "cameras": ("Camera",),
        "frame_start": 1,
        "frame_end": 24,
        "full_width": 640,
        "full_height": 360,
        "percentage": 100,
        "engine": "CYCLES",
        "samples": 64,
        "file_format": "PNG",
        "layers": (LayerReport(name="ViewLayer", passes=("Combined",)),),
    }
    return SceneReport.model_validate(values | changes)


def worker(name: str, device: str = "CPU", render_class: RenderClass = AVX2) -> WorkerInfo:
    return WorkerInfo(
        worker_id=name,
        host="host",
        pid=1,
        device=device,
        device_name=device,
        threads=1,
        memory=1,
        render_class=render_class,
        sandboxed=True,
    )


def stored(role: Role, name: str) -> StoredFile:
    return StoredFile(role=role, name=name, key=f"key/{name}", blob=Blob(sha256="1" * 64, bytes=1))


@dataclass
class Play:
    """The core, and what its instructions have made of the world so far."""

    core: Core = field(init=False)
    now: float = 1000.0
    jobs: dict[str, do.JobChanged] = field(default_factory=dict)
    frames: dict[tuple[str, int], do.FrameChanged] = field(default_factory=dict)
    tasks: dict[TaskKey, TaskState] = field(default_factory=dict)
    attempts: dict[str, AttemptState] = field(default_factory=dict)
    commits: Counter[TaskKey] = field(default_factory=Counter)
    sent: dict[str, Order] = field(default_factory=dict)  # by attempt, not yet answered
    where: dict[str, str] = field(default_factory=dict)  # worker by attempt
    cancelled: list[str] = field(default_factory=list)
    failures: list[do.AttemptEnded] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    anew: list[int] = field(default_factory=list)  # frames that left their render class
    keys: dict[str, TaskKey] = field(default_factory=dict)  # task by attempt

    def __post_init__(self) -> None:
        numbers = count(1)
        self.core = Core(State(), lambda: f"a{next(numbers)}")

    # --- doing ---

    def submit(self, job_id: str = "j1", **settings: object) -> None:
        job = Job(job_id, self.now, "s" + job_id, MANIFEST, RenderSettings.model_validate(settings))
        self.apply(self.core.take_up(job))
        self.assign()

    def join(self, *infos: WorkerInfo) -> None:
        for info in infos:
            self.tell(told.WorkerJoined(info))

    def tell(self, event: told.Event) -> None:
        self.apply(self.core.handle(event, self.now))
        self.assign()

    def assign(self) -> None:
        self.apply(self.core.assign(self.now))

    def orders(self, kind: TaskKind | None = None) -> list[Order]:
        return [order for order in self.sent.values() if kind is None or order.kind is kind]

    def succeed(self, order: Order, scene: SceneReport | None = None, **changes: object) -> None:
        """The worker of ``order`` reports a good result."""
        role = {TaskKind.TILE: Role.PIECE}.get(order.kind, Role.OUTPUT)
        files = () if order.kind is TaskKind.INSPECT else (stored(role, f"{order.task}.exr"),)
        values: dict[str, object] = {
            "files": files,
            "seconds": Seconds(total=2.0),
            "render_class": self.core.state.workers[self.where[order.attempt_id]].info.render_class,
            "report": (scene or report()) if order.kind is TaskKind.INSPECT else None,
        }
        self.sent.pop(order.attempt_id, None)
        self.tell(told.Succeeded(order.attempt_id, Result.model_validate(values | changes)))

    def fail(self, order: Order, cause: Cause = Cause.CRASH, what: str = "Blender crashed.") -> None:
        self.sent.pop(order.attempt_id, None)
        self.tell(told.Failed(order.attempt_id, Failure(cause=cause, what=what, cure="Look.")))

    def lose(self, worker_id: str) -> None:
        for attempt_id in [a for a, w in self.where.items() if w == worker_id]:
            self.sent.pop(attempt_id, None)
        self.tell(told.WorkerLost(worker_id))

    def finish_all(self) -> None:
        """Every order succeeds until there is none."""
        while self.sent:
            self.succeed(next(iter(self.sent.values())))

    # --- the model ---

    def apply(self, instructions: list[do.Instruction]) -> None:
        for instruction in instructions:
            self._apply(instruction)
        self.check()

    def _apply(self, instruction: do.Instruction) -> None:
        match instruction:
            case do.JobChanged():
                assert self.jobs.get(instruction.job_id, instruction).state not in (
                    JobState.DONE,
                    JobState.FAILED,
                    JobState.CANCELLED,
                )
                self.jobs[instruction.job_id] = instruction
            case do.FrameAnew(job_id, frame, _):
                self.anew.append(frame)
                for key in [key for key in self.commits if (key.job_id, key.frame) == (job_id, frame)]:
                    del self.commits[key]
                    [done] = [a for a, k in self.keys.items() if k == key and self.attempts[a] == "done"]
                    self.attempts[done] = AttemptState.DROPPED
            case do.FrameChanged():
                self.frames[instruction.job_id, instruction.frame] = instruction
            case do.TaskOpened(key):
                assert key not in self.tasks
                self.tasks[key] = TaskState.WAITING
            case do.TaskChanged():
                self.tasks[instruction.key] = instruction.state
            case do.AttemptStarted(attempt_id, key, worker_id):
                assert attempt_id not in self.attempts
                self.keys[attempt_id] = key
                self.attempts[attempt_id] = AttemptState.RUNNING
                self.where[attempt_id] = worker_id
            case do.AttemptEnded():
                assert self.attempts[instruction.attempt_id] is AttemptState.RUNNING
                self.attempts[instruction.attempt_id] = instruction.state
                if instruction.result:
                    self.commits[instruction.key] += 1
                if instruction.failure:
                    self.failures.append(instruction)
            case do.SendOrder(worker_id, order):
                self._check_order(order, self.core.state.workers[worker_id].info)
                self.sent[order.attempt_id] = order
            case do.CancelAttempt(_, attempt_id):
                self.cancelled.append(attempt_id)
                self.sent.pop(attempt_id, None)
            case do.PiecesDropped(_, frame):
                self.dropped.append(frame)

    def _check_order(self, order: Order, info: WorkerInfo) -> None:
        """Pieces of a frame come from one class, and a finish has them all."""
        assert {piece.render_class for piece in order.pieces} <= {order.render_class}
        if order.kind is TaskKind.FINISH:
            assert order.plan is not None
            assert order.render_class is not None
            assert [piece.tile for piece in order.pieces] == list(range(order.plan.pieces_per_frame))
            assert order.render_class.blender == info.render_class.blender
        elif order.kind is TaskKind.TILE and info.device == "CPU":
            assert order.render_class == info.render_class

    def check(self) -> None:
        """What must hold after every step."""
        state = self.core.state
        running = Counter(attempt.key for attempt in state.attempts.values())
        assert all(n == 1 for n in running.values()), "a task has two attempts"
        assert all(n == 1 for n in self.commits.values()), "a result was committed twice"
        owners = Counter(worker.attempt for worker in state.workers.values() if worker.attempt)
        assert all(n == 1 for n in owners.values()), "an attempt has two workers"
        for job in state.jobs.values():
            assert self.jobs[job.id].state is job.state
            for key, task in job.tasks.items():
                assert key == task.key
                assert self.tasks[key] is task.state
                assert (task.state is TaskState.RUNNING) == (task.attempt is not None)
                assert task.attempt is None or state.attempts[task.attempt].key == key
        for attempt in state.attempts.values():
            assert self.attempts[attempt.id] is AttemptState.RUNNING
            assert state.jobs[attempt.key.job_id].tasks[attempt.key].attempt == attempt.id
        for attempt_id, attempt_state in self.attempts.items():
            assert (attempt_state is AttemptState.RUNNING) == (attempt_id in state.attempts)
        for job_id, change in self.jobs.items():
            if job_id not in state.jobs:
                open_tasks = [
                    key
                    for key, task_state in self.tasks.items()
                    if key.job_id == job_id and task_state in (TaskState.WAITING, TaskState.RUNNING)
                ]
                assert not open_tasks, f"{job_id} is {change.state} with open tasks"
