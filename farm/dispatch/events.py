"""What the core is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from farm.dispatch.state import Earlier
from farm.domain.control import Control
from farm.domain.frames import FrameRange
from farm.domain.work import Failure, Progress, Result, WorkerInfo


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """A user wants a job to stop."""

    job_id: str


@dataclass(frozen=True, slots=True)
class ControlAsked:
    """A user, or the service for one, wants a job dispatched like this from now on."""

    job_id: str
    control: Control


@dataclass(frozen=True, slots=True)
class RequeueAsked:
    """A user wants frames of a job that has not ended rendered again: those that run, and that failed.

    None: those that failed. What is done stays done.
    """

    job_id: str
    frames: FrameRange | None = None


@dataclass(frozen=True, slots=True)
class LimitsChanged:
    """How many workers each user may have at once; who is not named may have all."""

    workers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WorkerAway:
    """A worker takes no orders for a while (``why``), or does again (empty)."""

    worker_id: str
    why: str


@dataclass(frozen=True, slots=True)
class WorkerProbed:
    """What came of a probe of a worker that was set aside; ``wrong`` is empty where it is well.

    None: nothing, as the worker was at something else, or its owner's, or not there.
    """

    worker_id: str
    wrong: str | None = ""


@dataclass(frozen=True, slots=True)
class EarlierFound:
    """What an earlier job left of frames that a job is about to open."""

    job_id: str
    frames: Mapping[int, Earlier]


@dataclass(frozen=True, slots=True)
class WorkerJoined:
    """A worker was started or found again; ``attempts`` is what it runs or has not reported yet."""

    info: WorkerInfo
    attempts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker died, or its node is gone."""

    worker_id: str


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """A worker that should be here cannot start; ``why`` is for people. It goes on being tried."""

    worker_id: str
    why: str


@dataclass(frozen=True, slots=True)
class FleetMet:
    """After a restart: every worker that lives has joined. Those that did not are lost."""


@dataclass(frozen=True, slots=True)
class OrderLost:
    """An order did not reach its worker."""

    attempt_id: str


@dataclass(frozen=True, slots=True)
class Progressed:
    """A running attempt counted on."""

    attempt_id: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class Succeeded:
    """An attempt brought a result."""

    attempt_id: str
    result: Result


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt came to nothing, for a reason that its worker tells."""

    attempt_id: str
    failure: Failure


type Event = (
    CancelAsked
    | ControlAsked
    | RequeueAsked
    | LimitsChanged
    | WorkerAway
    | WorkerProbed
    | EarlierFound
    | WorkerJoined
    | WorkerLost
    | WorkerFailed
    | FleetMet
    | OrderLost
    | Progressed
    | Succeeded
    | Failed
)
