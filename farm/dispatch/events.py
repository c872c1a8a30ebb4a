"""What the core is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from farm.dispatch.state import Earlier
from farm.domain.work import Failure, Progress, Result, WorkerInfo


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """A user wants a job to stop."""

    job_id: str


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
    | EarlierFound
    | WorkerJoined
    | WorkerLost
    | FleetMet
    | OrderLost
    | Progressed
    | Succeeded
    | Failed
)
