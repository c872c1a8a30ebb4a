"""The state of the farm that renders nothing."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from farm.domain.events import EventKind
from farm.domain.plan import Plan
from farm.domain.scene import SceneManifest, SceneReport
from farm.domain.states import JobState, TaskState
from farm.domain.views import (
    AttemptView,
    EventView,
    FailedWorker,
    FrameCounts,
    FrameView,
    JobView,
    OutputView,
    ProofView,
    UserView,
    WorkerView,
)
from farm.domain.work import Proof, Role


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes


class FakeFarm:
    """The farm's state: tests read its fields, and make things happen with its verbs."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.scenes: dict[str, SceneManifest] = {}
        self.jobs: dict[str, JobView] = {}
        self.frames: dict[str, dict[int, FrameView]] = {}
        self.attempts: dict[str, list[AttemptView]] = {}
        self.outputs: dict[int, tuple[OutputView, bytes]] = {}
        self.proofs: dict[str, dict[int, ProofView]] = {}  # by job and frame
        self.users: dict[str, UserView] = {"local": UserView(id="local", name="local")}
        self.workers: list[WorkerView] = []
        self.failed: list[FailedWorker] = []
        self.notes: list[str] = []  # told with the answer to a submit or a change
        self.events: list[EventView] = []
        self.calls: list[Call] = []
        self.away = 0  # calls still to be answered with 503
        self.damaged = 0  # outputs still to be sent with a wrong byte
        self.on_submit: Callable[[str], None] = lambda _: None  # gets the job id, in a thread of its own
        self.cancels = True  # False: the dispatcher is away, and takes no intent up
        self.news = threading.Condition()

    def tell(self, kind: EventKind, job_id: str, **data: object) -> None:
        """Add an event."""
        with self.news:
            self.events.append(
                EventView(
                    sequence=len(self.events) + 1, time=time.time(), job_id=job_id, kind=kind, data=data
                )
            )
            self.news.notify_all()

    def plan(
        self,
        job_id: str,
        frames: str = "1-3",
        report: SceneReport | None = None,
        exact: bool = True,
        **plan: object,
    ) -> None:
        """The scene was read: the job renders these frames; ``plan`` are more fields of its plan."""
        told = {"frames": frames, "width": 64, "height": 36, "exact": exact}
        made = Plan.model_validate(told | {"reason": "one worker: whole frames"} | plan)
        self.frames[job_id] = {
            frame: FrameView(frame=frame, state=TaskState.WAITING) for frame in made.frame_range
        }
        self.change(job_id, plan=made, report=report, state=JobState.RENDERING, started=time.time())
        self.tell(EventKind.JOB_PLANNED, job_id, reason=made.reason, total=len(made.frame_range))

    def count(self, job_id: str, frame: int, sample: int, samples: int) -> None:
        """Cycles has counted."""
        self.tell(
            EventKind.ATTEMPT_PROGRESS,
            job_id,
            task=f"{job_id}/{frame}/whole",
            attempt=f"a{frame}",
            frame=frame,
            tile=None,
            phase="rendering",
            sample=sample,
            samples=samples,
        )

    def finish(self, job_id: str, frame: int, files: dict[str, bytes], seconds: float = 1.5) -> None:
        """A frame is committed with these outputs."""
        outputs = [self._store(Role.OUTPUT, name, data, "image/png") for name, data in files.items()]
        self.frames[job_id][frame] = FrameView(
            frame=frame, state=TaskState.DONE, seconds=seconds, outputs=tuple(outputs)
        )
        self.change(job_id)
        self.tell(EventKind.FRAME_STATE, job_id, frame=frame, state=TaskState.DONE, seconds=seconds)

    def film(self, job_id: str, name: str, data: bytes) -> None:
        """A movie was made of the job's frames."""
        movie = self._store(Role.VIDEO, name, data, "video/mp4")
        self.change(job_id, videos=(*self.jobs[job_id].videos, movie))

    def _store(self, role: Role, name: str, data: bytes, media_type: str) -> OutputView:
        output = OutputView(
            id=len(self.outputs) + 1,
            role=role,
            name=name,
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            media_type=media_type,
        )
        self.outputs[output.id] = (output, data)
        return output

    def prove(self, job_id: str, proof: Proof) -> None:
        """A verification found this of a frame."""
        of = self.jobs[job_id].proves or job_id
        self.proofs.setdefault(of, {})[proof.frame] = ProofView(
            frame=proof.frame, by_job=job_id, time=time.time(), proof=proof
        )
        self.finish(job_id, proof.frame, {}, proof.seconds)

    def fail(self, job_id: str, frame: int, error: str) -> None:
        """A frame has failed for good."""
        self.frames[job_id][frame] = FrameView(frame=frame, state=TaskState.FAILED, error=error)
        self.change(job_id)
        self.tell(EventKind.FRAME_STATE, job_id, frame=frame, state=TaskState.FAILED)

    def end(self, job_id: str, state: JobState = JobState.DONE, error: str = "", cure: str = "") -> None:
        """The job has ended."""
        self.change(job_id, state=state, error=error, cure=cure, ended=time.time(), cancelling=False)
        self.tell(EventKind.JOB_STATE, job_id, state=state, error=error, cure=cure)

    def change(self, job_id: str, **changed: object) -> None:
        """Set fields of a job's view; its counts follow from its frames."""
        states = [frame.state for frame in self.frames.get(job_id, {}).values()]
        counts = FrameCounts(total=len(states), **{one.value: states.count(one) for one in TaskState})
        self.jobs[job_id] = self.jobs[job_id].model_copy(update={"frames": counts, **changed})
