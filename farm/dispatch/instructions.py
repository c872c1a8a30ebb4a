"""What the core wants done: records for the database, then effects on the world.

The loop writes all records of a step in one transaction and carries out the effects only after its
commit. An effect that is lost with the process is made good after a restart: an order that was
never sent is found missing on its worker, and its attempt is retried for free.
"""

from __future__ import annotations

from dataclasses import dataclass

from farm.domain.control import Control
from farm.domain.costs import Costs
from farm.domain.job import Device
from farm.domain.plan import Plan, Recut
from farm.domain.scene import SceneReport
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey
from farm.domain.work import Failure, Order, Progress, Proof, RenderClass, Result, WorkerInfo

# --- records -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobChanged:
    """A job is in another state; `error` and `cure` say why it failed."""

    job_id: str
    state: JobState
    error: str = ""
    cure: str = ""


@dataclass(frozen=True, slots=True)
class JobInspected:
    """What Blender said about the job's scene."""

    job_id: str
    report: SceneReport


@dataclass(frozen=True, slots=True)
class JobPlanned:
    """How the job is cut."""

    job_id: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class FrameOpened:
    """The next frame of the plan gets its row."""

    job_id: str
    frame: int
    opened: int  # frames opened so far, this one included


@dataclass(frozen=True, slots=True)
class FrameChanged:
    """`seconds` is given with the end of the frame, `error` with its failure."""

    job_id: str
    frame: int
    state: TaskState
    finishing: bool = False
    seconds: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ClassSettled:
    """From now on, pieces of this frame come from this render class only."""

    job_id: str
    frame: int
    render_class: RenderClass


@dataclass(frozen=True, slots=True)
class ControlSet:
    """From now on the job is dispatched like this."""

    job_id: str
    control: Control


@dataclass(frozen=True, slots=True)
class JobWaits:
    """For what a job waits that has nothing running, in words; empty: for nothing, or just for its turn."""

    job_id: str
    why: str


@dataclass(frozen=True, slots=True)
class CostsMeasured:
    """What the job's frames cost, as far as is known now."""

    job_id: str
    costs: Costs


@dataclass(frozen=True, slots=True)
class FrameRecut:
    """The plan of a frame was revised: these are all its revisions now; ``why`` is for people."""

    job_id: str
    frame: int
    recuts: tuple[Recut, ...]
    why: str


@dataclass(frozen=True, slots=True)
class WorkerSetAside:
    """A worker is given nothing of a job (None: of any) until it is well; ``why`` None: it is again."""

    worker_id: str
    job_id: str | None
    why: str | None
    probes: int = 0  # that it has failed since


@dataclass(frozen=True, slots=True)
class FrameAnew:
    """A frame begins again, in whatever render class: its pieces, and what made them, count no more."""

    job_id: str
    frame: int
    why: str
    device: Device | None = None  # that it is rendered on from now on; None: its job's
    recuts: tuple[Recut, ...] = ()  # that its plan keeps


@dataclass(frozen=True, slots=True)
class PiecesAnew:
    """Pieces of a frame are at fault: they, and the attempts that made them, count no more."""

    job_id: str
    frame: int
    pieces: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class FrameVerified:
    """What came out when a frame of ``job_id`` was verified, by another job."""

    job_id: str
    by_job: str
    proof: Proof


@dataclass(frozen=True, slots=True)
class TaskOpened:
    """A task gets its row, waiting."""

    key: TaskKey


@dataclass(frozen=True, slots=True)
class TaskChanged:
    """A task is in another state."""

    key: TaskKey
    state: TaskState
    failures: int
    losses: int
    renders: int


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A worker is given a task."""

    attempt_id: str
    key: TaskKey
    worker_id: str


@dataclass(frozen=True, slots=True)
class AttemptResumed:
    """An attempt that was given up for lost runs after all."""

    attempt_id: str
    key: TaskKey
    worker_id: str


@dataclass(frozen=True, slots=True)
class AttemptProgressed:
    """What a running attempt counted."""

    attempt_id: str
    key: TaskKey
    progress: Progress


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """With a result, its files are committed as outputs."""

    attempt_id: str
    key: TaskKey
    worker_id: str
    state: AttemptState
    result: Result | None = None
    failure: Failure | None = None
    retry: bool = False


@dataclass(frozen=True, slots=True)
class PiecesDropped:
    """A frame's pieces are not needed any more: their rows go, and after the commit their bytes."""

    job_id: str
    frame: int


@dataclass(frozen=True, slots=True)
class WorkerChanged:
    """`info` None: the worker is gone."""

    worker_id: str
    info: WorkerInfo | None
    attempt_id: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """A worker cannot start, and ``why``; None: it could after all, or is not wanted any more."""

    worker_id: str
    why: str | None


type Record = (
    JobChanged
    | JobInspected
    | JobPlanned
    | FrameOpened
    | FrameChanged
    | ClassSettled
    | ControlSet
    | JobWaits
    | CostsMeasured
    | FrameRecut
    | WorkerSetAside
    | FrameAnew
    | PiecesAnew
    | FrameVerified
    | TaskOpened
    | TaskChanged
    | AttemptStarted
    | AttemptResumed
    | AttemptProgressed
    | AttemptEnded
    | PiecesDropped
    | WorkerChanged
    | WorkerFailed
)

# --- effects -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SendOrder:
    """Give a worker its order."""

    worker_id: str
    order: Order


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """Have a worker kill an attempt."""

    worker_id: str
    attempt_id: str


@dataclass(frozen=True, slots=True)
class ProbeWorker:
    """Have a worker that is idle render a small scene of ours, to see whether it is well."""

    worker_id: str


type Effect = SendOrder | CancelAttempt | ProbeWorker
type Instruction = Record | Effect
