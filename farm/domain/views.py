"""What the API answers: the same values for the page, the CLI and the Python client.

Times are seconds since the epoch (UTC), durations seconds, sizes bytes.
"""

from __future__ import annotations

from pydantic import Field, field_validator

from farm.domain.control import Control
from farm.domain.costs import Costs, Span
from farm.domain.frames import FrameRange
from farm.domain.job import RenderSettings, keeps_pieces
from farm.domain.plan import Plan
from farm.domain.scene import Finding, SceneReport, Value
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.work import Cause, Progress, Proof, RenderClass, Role, WorkerInfo


class OutputView(Value):
    """A stored file that people may fetch: ``GET /api/outputs/{id}``."""

    id: int
    role: Role
    name: str
    bytes: int
    sha256: str
    media_type: str


class Made(Value):
    """By what a result was made: Blender's build and kernel, the device with its driver, the noise."""

    render_class: RenderClass | None = None
    device_name: str = ""
    driver: str = ""
    seed: int | None = None
    peak_memory: int = 0  # bytes, of the render process; 0 where it is not known
    notes: tuple[str, ...] = ()


class AttemptView(Value):
    """One try of a task by one worker."""

    id: str
    task: str
    words: str
    state: AttemptState
    worker_id: str
    started: float
    ended: float | None = None
    progress: Progress | None = None
    cause: Cause | None = None  # of a failure
    what: str = ""
    cure: str = ""
    log_tail: str = ""
    log_output_id: int | None = None
    seconds: dict[str, float] = {}
    made: Made | None = None  # of one that was done


class TileView(Value):
    """A piece of a frame. The box is in pixels of the frame, y down; `preview` is an output id."""

    index: int
    state: TaskState
    x: int
    y: int
    width: int
    height: int
    samples: tuple[int, int] | None = None  # [first, end) of its total, where the frame is cut by samples
    worker_id: str | None = None
    progress: Progress | None = None
    preview: int | None = None


class FrameView(Value):
    """A frame. `state` is waiting, running (rendering or finishing), done, failed or cancelled."""

    frame: int
    state: TaskState
    finishing: bool = False
    seconds: float | None = None  # of the committed attempts, summed
    worker_id: str | None = None
    progress: Progress | None = None
    outputs: tuple[OutputView, ...] = ()
    preview: int | None = None  # output id
    tiles: tuple[TileView, ...] = ()
    error: str = ""  # why it failed, or why it waits to be rendered again


class Provenance(Value):
    """Where a frame comes from: each try of its tasks, oldest first, and the bytes that it was made of.

    ``counts`` are the ids of the attempts whose results make the frame as it is.
    """

    job_id: str
    frame: int
    state: TaskState
    scene_id: str
    files: dict[str, str]  # SHA-256 by name, of the scene and all that it uses
    adds_to: str | None = None  # the job that made the samples which were there before
    attempts: tuple[AttemptView, ...] = ()
    counts: tuple[str, ...] = ()


class FrameCounts(Value):
    """Frames of a job by state; they sum to `total`."""

    total: int = 0
    waiting: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0


class RecutView(Value):
    """A frame whose plan was revised while the job went on, and why."""

    frame: int
    time: float
    why: str


class JobView(Value):
    """A job with its frames counted."""

    id: str
    name: str
    owner: str
    state: JobState
    scene_id: str
    settings: RenderSettings
    created: float
    started: float | None = None
    ended: float | None = None
    frames: FrameCounts = FrameCounts()
    report: SceneReport | None = None
    plan: Plan | None = None
    control: Control = Control()
    waits: str = ""  # for what, where nothing of it can be begun now
    costs: Costs = Costs()  # measured so far
    seconds_left: float | None = None  # the likely end of `left`
    left: Span | None = None  # seconds, from what was measured; None while nothing was
    price: Span | None = None  # of the whole job, with what was paid so far; None where no worker has one
    cancelling: bool = False
    retrying: bool = False  # it has ended, and was asked to go on
    recuts: tuple[RecutView, ...] = ()  # the latest, newest first; only where one job is asked for
    notes: tuple[str, ...] = ()  # of a submit or a change: what was accepted, and may surprise
    error: str = ""
    cure: str = ""
    preview: int | None = None  # output id of the latest finished frame's preview
    videos: tuple[OutputView, ...] = ()  # movies made of its frames
    proves: str | None = None  # the job whose frames this one verifies
    adds_to: str | None = None  # the job whose samples this one adds to
    verified: int = 0  # frames of this job that were verified, or that it verified where it proves …
    differing: int = 0  # … and those of them that were found to differ

    @property
    def by_samples(self) -> bool:
        """Whether frames are rendered by their samples, or will be as far as is known yet."""
        if self.plan is not None:
            return bool(self.plan.ranges)
        return self.settings.by_samples or keeps_pieces(self.settings, self.adds_to)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that the inspection found and that bears on this job, each once."""
        if self.report is None:
            return ()
        breaks = self.report.breaks_ranges if self.by_samples else self.report.breaks_exactness
        found = (*self.report.findings, *self.report.blocks_cutting, *self.report.in_order, *breaks)
        return tuple(dict.fromkeys(found))


class FramesRequest(Value):
    """Which frames are meant: ``POST /api/jobs/{id}/requeue``. None: those that failed."""

    frames: str | None = Field(default=None, max_length=10_000)

    @field_validator("frames")
    @classmethod
    def _frames(cls, text: str | None) -> str | None:
        return None if text is None else str(FrameRange.parse(text))


class UserView(Value):
    """A user, and how many workers all jobs of theirs may have at once; None: as many as there are."""

    id: str
    name: str
    workers: int | None = None


class LimitRequest(Value):
    """``PUT /api/limits/{user}``; None: as many workers as there are."""

    workers: int | None = Field(default=None, ge=1, lt=1 << 31)


class VerifyRequest(Value):
    """Which frames to verify: ``POST /api/jobs/{id}/verify``. None: all that are done."""

    frames: str | None = Field(default=None, max_length=10_000)
    priority: int | None = None  # of the job that verifies; None: the normal one

    @field_validator("frames")
    @classmethod
    def _frames(cls, text: str | None) -> str | None:
        return None if text is None else str(FrameRange.parse(text))


class Verification(Value):
    """The job that verifies; None where there is nothing to prove, and `reason` says why."""

    job: JobView | None = None
    reason: str = ""


class ProofView(Value):
    """The latest proof of a frame, and the job that made it."""

    frame: int
    by_job: str
    time: float
    proof: Proof


class WorkerView(Value):
    """A worker and what it is at."""

    info: WorkerInfo
    state: str  # idle, busy, away, aside, starting, lost
    why: str = ""  # it is away, or was set aside
    attempt: AttemptView | None = None
    job_id: str | None = None


class FailedWorker(Value):
    """A worker that should be here and cannot start: why, with the cure. It goes on being tried."""

    worker_id: str
    why: str
    since: float


class EventView(Value):
    """A row of the event table. `sequence` only grows; clients resume with ``after=``."""

    sequence: int
    time: float
    job_id: str | None
    kind: str
    data: dict[str, object] = {}


class FarmView(Value):
    """The farm's pulse."""

    version: str
    workers: tuple[WorkerView, ...] = ()
    failed: tuple[FailedWorker, ...] = ()
    rendering: int = 0
    waiting: int = 0  # jobs not ended that have no running task
    dispatcher: str = "away"  # alive, away
    storage: str = "away"  # ok, away


class BlobQuery(Value):
    """Which of these does the farm lack? ``POST /api/blobs/missing``."""

    sha256: tuple[str, ...]


class SceneRef(Value):
    """A registered scene, by its id."""

    scene_id: str
