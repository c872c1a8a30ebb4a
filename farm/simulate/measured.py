"""What happened in a simulated run, as it happens: which worker was at what, and what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from farm.dispatch import instructions as do
from farm.domain.plan import Recut
from farm.domain.states import JOB_ENDED, AttemptState, JobState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Seconds
from farm.simulate.clock import Clock


@dataclass(slots=True)
class Spell:
    """One attempt. Times are seconds from the start; `seconds` are what it would take in all."""

    worker: str
    key: TaskKey
    began: float
    seconds: Seconds
    ended: float | None = None  # None: it runs
    useful: bool = False  # what it made is part of a finished frame, or brought one on its way


@dataclass
class Measured:
    """The diary of a run. `listens`: whether workers tell of their progress."""

    clock: Clock
    listens: bool = True
    spells: dict[str, Spell] = field(default_factory=dict)  # by attempt
    there: dict[str, list[tuple[float, float | None]]] = field(default_factory=dict)  # by worker
    ends: dict[str, tuple[float, JobState]] = field(default_factory=dict)  # by job
    errors: dict[str, str] = field(default_factory=dict)  # of jobs that failed
    causes: Counter[str] = field(default_factory=Counter)  # of failed attempts
    cut: set[tuple[str, int]] = field(default_factory=set)  # frames some piece of which was rendered
    recut: int = 0  # times that something was cut again, finer
    raced: int = 0  # times that the same was given to another worker as well
    running: int = 0  # attempts, now
    aside: int = 0  # times that a worker was set aside
    _recuts: dict[tuple[str, int], tuple[Recut, ...]] = field(default_factory=dict)
    _tiles: dict[tuple[str, int], dict[int, str]] = field(default_factory=dict)  # committed, by frame
    _used: dict[str, tuple[int, ...]] = field(default_factory=dict)  # pieces, by attempt at a finish

    def joined(self, worker_id: str) -> None:
        """A worker is there."""
        self.there.setdefault(worker_id, []).append((self.clock.now, None))

    def left(self, worker_id: str) -> None:
        """A worker is gone."""
        since, _ = self.there[worker_id][-1]
        self.there[worker_id][-1] = (since, self.clock.now)

    def began(self, worker_id: str, attempt_id: str, key: TaskKey, seconds: Seconds) -> None:
        """A worker is at an attempt."""
        self.running += 1
        self.spells[attempt_id] = Spell(worker_id, key, self.clock.now, seconds)
        if key.frame is not None and key.kind is TaskKind.TILE:
            self.cut.add((key.job_id, key.frame))

    def ended(self, attempt_id: str) -> None:
        """It is at it no more, whatever came of it."""
        self.running -= 1
        self.spells[attempt_id].ended = self.clock.now

    def decided(self, instruction: do.Instruction) -> None:
        """What the policy says of it."""
        match instruction:
            case do.SendOrder(_, order) if order.kind is TaskKind.FINISH:
                self._used[order.attempt_id] = tuple(piece.tile for piece in order.pieces)
            case do.AttemptEnded():
                self._attempt_ended(instruction)
            case do.JobChanged(job_id, state, error) if state in JOB_ENDED:
                self.ends[job_id] = (self.clock.now, state)
                if error:
                    self.errors[job_id] = error
            case do.FrameRecut(job_id, frame, recuts):
                before = self._recuts.get((job_id, frame), ())
                finer = recuts != before and recuts[-1].grid != "1x1"
                self.recut += finer
                self.raced += not finer
                self._recuts[job_id, frame] = recuts
            case do.WorkerSetAside(_, _, why) if why:
                self.aside += 1
            case do.FrameAnew(job_id, frame):
                for attempt_id in self._tiles.pop((job_id, frame), {}).values():
                    self.spells[attempt_id].useful = False
            case do.PiecesAnew(job_id, frame, pieces):
                tiles = self._tiles[job_id, frame]
                for tile in pieces:
                    self.spells[tiles.pop(tile)].useful = False

    def _attempt_ended(self, record: do.AttemptEnded) -> None:
        if record.failure is not None:
            self.causes[record.failure.cause.value] += 1
        if record.state is not AttemptState.DONE:
            return
        key = record.key
        self.spells[record.attempt_id].useful = True
        if key.frame is None:
            return
        tiles = self._tiles.setdefault((key.job_id, key.frame), {})
        if key.kind is TaskKind.TILE and key.tile is not None:
            tiles[key.tile] = record.attempt_id
            return
        used = self._used.pop(record.attempt_id, ())  # of a whole frame: none
        for tile, attempt_id in tiles.items():
            self.spells[attempt_id].useful = tile in used
        del self._tiles[key.job_id, key.frame]
