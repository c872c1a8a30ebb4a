"""What the core keeps in memory of jobs that have not ended: only what is open, never a whole job.

Everything here can be read back from the database (`farm.dispatch.recovery`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from farm.domain.control import Control
from farm.domain.costs import Costs
from farm.domain.job import Device, RenderSettings, keeps_pieces
from farm.domain.plan import Plan, Recut, SampleRange
from farm.domain.scene import SceneManifest, SceneReport
from farm.domain.states import JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, PieceRef, Progress, RenderClass, WorkerInfo
from farm.planning.learned import Learned
from farm.planning.model import Way

#: Events of a task that are kept: it may wait for storage, and try again, for weeks.
STORY = 20


@dataclass(slots=True)
class Task:
    """An open task. At most one attempt runs; `attempt` is its id."""

    key: TaskKey
    state: TaskState = TaskState.WAITING
    failures: int = 0  # tries that count against it
    losses: int = 0  # workers that died under it
    renders: int = 0  # of a piece: how often it was done and then found at fault
    stalls: int = 0  # tries for which there was no storage, or no room; forgotten with the process
    not_before: float = 0.0  # retry later, seconds since the epoch
    attempt: str | None = None
    memory: int = 0  # bytes that its worker must have, as others with less, or as much, had too little
    host_memory: int = 0  # the same, of its machine: what a GPU has is of no help there
    failed_on: set[str] = field(default_factory=set)
    story: deque[str] = field(default_factory=lambda: deque(maxlen=STORY))  # its last events

    def need(self, memory: int, *, host: bool) -> None:
        """From now on it needs a worker with so many bytes, of its machine or of what it renders on."""
        if host:
            self.host_memory = max(self.host_memory, memory)
        else:
            self.memory = max(self.memory, memory)

    @property
    def picky(self) -> bool:
        """Whether some workers have too little memory for it."""
        return bool(self.memory or self.host_memory)


@dataclass(slots=True)
class Piece:
    """A piece that is there, and the worker that made it; None where an earlier job did."""

    ref: PieceRef
    by: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier job left of a frame, for a job that verifies it or adds to it.

    Without a class the frame is not done there.
    """

    render_class: RenderClass | None = None
    pieces: Mapping[int, PieceRef] = field(default_factory=dict)


@dataclass(slots=True)
class Frame:
    """An open frame."""

    number: int
    state: TaskState = TaskState.WAITING
    pieces: dict[int, Piece] = field(default_factory=dict)
    render_class: RenderClass | None = None
    recuts: tuple[Recut, ...] = ()  # revisions of its plan
    races: int = 0  # whole frames that were begun beside the first
    device: Device | None = None  # where it moved, as it did not fit into what its job renders on
    foreign: set[str] = field(default_factory=set)  # workers found to be of another class than its own
    stranded: float | None = None  # since when no worker offers its class


@dataclass(frozen=True, slots=True)
class Decided:
    """How the last ``left`` frames of a job are cut (None: they stay whole), and why: for a moment."""

    when: float  # seconds since the epoch
    left: int
    workers: int
    cut: tuple[Recut, str] | None


@dataclass(slots=True)
class Job:
    """A job that has not ended. `opened` and `done` count frames.

    `ahead` holds what the earlier job left of the frames to be opened next, of which the core is told
    before it opens them. `there` are the earlier job's sample ranges.
    """

    id: str
    created: float
    scene_id: str
    manifest: SceneManifest
    settings: RenderSettings
    owner: str = ""
    control: Control = field(default_factory=Control)
    costs: Costs = field(default_factory=Costs)
    learned: Learned | None = None  # what `costs` follow from, since the first of it was learned here
    told_costs: float = 0.0  # when they were last written down
    ways: dict[int, list[Way]] = field(default_factory=dict)  # in which its frames may be cut, for so many
    decided: Decided | None = None  # of its last frames
    #: Costs of an earlier job of the scene, and the pixels times samples of its frames.
    earlier_costs: tuple[Costs, float] | None = None
    waits: str = ""  # for what, as it was last told
    proves: str | None = None  # the job whose frames it verifies
    adds_to: str | None = None  # the job whose samples it adds to
    state: JobState = JobState.WAITING
    report: SceneReport | None = None
    plan: Plan | None = None
    opened: int = 0
    done: int = 0
    frames: dict[int, Frame] = field(default_factory=dict)
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    there: tuple[SampleRange, ...] = ()
    ahead: dict[int, Earlier] = field(default_factory=dict)
    bound: str | None = None  # where frames are rendered in order: the worker that is at it
    gone: set[RenderClass] = field(default_factory=set)  # waited for in vain, and not seen since
    failed_frames: dict[int, str] = field(default_factory=dict)  # and why
    stillness: dict[TaskKind, float] = field(default_factory=dict)  # the longest of what did well: `patience`
    #: Frames that are begun again once it is known what the earlier job left of them; they have rows.
    again: set[int] = field(default_factory=set)

    def plan_of(self, frame: Frame) -> Plan:
        """The plan of one frame, with its revisions; raises ValueError before there is one."""
        if self.plan is None:
            raise ValueError(f"job {self.id} has no plan yet")
        return self.plan.recut(frame.recuts)

    @property
    def failed(self) -> int:
        """How many frames failed."""
        return len(self.failed_frames)

    @property
    def first_error(self) -> str:
        """Why the first of the frames failed that did; empty where none did."""
        return next((f"Frame {number}: {why}" for number, why in self.failed_frames.items()), "")

    @property
    def keeps_pieces(self) -> bool:
        """Whether pieces outlive their frame."""
        return keeps_pieces(self.settings, self.adds_to)


@dataclass(frozen=True, slots=True)
class Ended:
    """What is left to know of a job that has ended, for those that come after it."""

    state: JobState
    missing: Container[int] = frozenset()  # frames of it that are not done


@dataclass(slots=True)
class Attempt:
    """A running try of a task. Times are seconds since the epoch."""

    id: str
    key: TaskKey
    worker_id: str
    started: float = 0.0
    progress: Progress | None = None
    moved: float = field(default=0.0, compare=False)  # when `progress` last changed
    still: float = field(default=0.0, compare=False)  # seconds, the longest without a move so far
    watched: bool = field(default=True, compare=False)  # from its start on
    rendering: float | None = None  # since when it renders, as far as was heard
    paid: float = field(default=0.0, compare=False)  # until when it was, where it was given up for lost


@dataclass(slots=True)
class Worker:
    """A live worker. Busy until it reports the end of `attempt`, also of one that was cancelled."""

    info: WorkerInfo
    attempt: str | None = None
    scene_id: str | None = None  # that its render process has loaded, as far as is known
    frame: tuple[str, int] | None = None  # job and number of the frame that it last rendered some of
    speed: float = 1.0  # measured: 2.0 renders in half the seconds
    aside: str = ""  # why it is given nothing of any job; empty: it is
    barred: set[str] = field(default_factory=set)  # jobs that it is given nothing of
    probing: bool = False


@dataclass(slots=True)
class Aside:
    """Why a worker is given nothing of a job, or of any, and how many probes it has failed since."""

    why: str
    probes: int = 0
    since: float = 0.0  # seconds since the epoch


@dataclass(slots=True)
class Fault:
    """A task that failed on a worker: see `standing`."""

    when: float  # seconds since the epoch
    cause: Cause
    only_here: bool = True  # no other worker failed at it
    proved: bool = False  # another worker did it
    fresh: bool = True  # the worker did nothing well since

    @property
    def counts(self) -> bool:
        """Whether it is held against the worker."""
        return self.proved or self.only_here


@dataclass(slots=True)
class Standing:
    """What failed on a worker, and how often it was set aside again before it did anything well."""

    faults: dict[TaskKey, Fault] = field(default_factory=dict)
    relapses: int = 0


@dataclass(slots=True)
class State:
    """All that the core knows, by id."""

    jobs: dict[str, Job] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)  # workers that cannot start, and why
    attempts: dict[str, Attempt] = field(default_factory=dict)  # running
    lost: dict[str, Attempt] = field(default_factory=dict)  # of open tasks, oldest first: see `late`
    #: Jobs that have ended and that others, which have not, come after.
    ended: dict[str, Ended] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)  # workers at once, by user
    #: Workers that are set aside, by their id and the job's; None: for all jobs. Also of workers that are
    #: not here now.
    aside: dict[tuple[str, str | None], Aside] = field(default_factory=dict)
    #: Of workers on which something failed; forgotten with the process.
    standing: dict[str, Standing] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)  # workers of whose standing something changed
    #: Tasks that need more memory than some workers have, and since when none that serves has it.
    cramped: dict[TaskKey, float | None] = field(default_factory=dict)
    cramped_seen: float = 0.0  # when they were last looked at
    watched: float = 0.0  # when it was last looked for attempts that do not move
    tended: float = 0.0  # when the workers' standing was last looked at
