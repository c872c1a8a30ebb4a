"""A simulated worker: obeys instructions as a real one does, in the time that it takes it, and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from farm.dispatch import events as told
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure, Order, Progress
from farm.simulate.attempt import Fate, Warmth, fate
from farm.simulate.clock import Clock
from farm.simulate.measured import Measured
from farm.simulate.scenario import Machine, Submitted
from farm.simulate.trace import Failures

#: Seconds until a worker that died is there again.
RESTART = 60.0
#: Seconds of a probe of a worker that was set aside.
_PROBE = 20.0
#: Seconds until a render process that was cancelled is gone.
_KILL = 1.0
#: So many times a render tells of itself, but not more often than each `_TELL` seconds.
_TOLD, _TELL = 10, 10.0
_SAMPLES = 128
#: A finish has a process of its own; the warm one outlives its end.
_APART = frozenset({TaskKind.FINISH})

Hear = Callable[[told.Event], None]


@dataclass
class _Running:
    order: Order
    key: TaskKey
    fate: Fate
    began: float
    over: bool = False


class SimulatedWorker:
    """One machine of the fleet, while it is there and while it is not."""

    def __init__(
        self,
        machine: Machine,
        jobs: Mapping[str, Submitted],
        rates: Failures,
        seed: int,
        clock: Clock,
        hear: Hear,
        measured: Measured,
    ) -> None:
        """``hear`` takes what it reports; ``measured`` is told what it does."""
        self._machine = machine
        self._jobs = jobs
        self._rates = rates
        self._seed = seed
        self._clock = clock
        self._hear = hear
        self._measured = measured
        self._warm = Warmth()
        self._running: _Running | None = None
        self._tries = 0
        self._here = False
        for start, end in machine.gone:
            clock.at(start, self._leave)
            clock.at(end, self._join)

    @property
    def id(self) -> str:
        return self._machine.info.worker_id

    def start(self) -> None:
        """Join the farm for the first time."""
        self._join()

    def order(self, order: Order) -> None:
        """Begin an attempt; raises RuntimeError where this worker cannot take one: a fault of the policy."""
        if not self._here or self._running is not None:
            raise RuntimeError(f"{self.id} was given {order.task}, and is {'busy' if self._here else 'gone'}")
        key = TaskKey.parse(order.task)
        self._tries += 1
        dice = Random(f"{self._seed}/{self.id}/{self._tries}")
        job = self._jobs[key.job_id]
        found = fate(order, key.frame, job, self._machine, self._warm, self._rates, dice)
        running = self._running = _Running(order, key, found, self._clock.now)
        self._measured.began(self.id, order.attempt_id, key, found.seconds)
        self._tell_of(running)
        self._clock.after(found.seconds.total, lambda: self._end(running))

    def cancel(self, attempt_id: str) -> None:
        """Kill an attempt; nothing where it is over."""
        running = self._running
        if running is not None and running.order.attempt_id == attempt_id and not running.over:
            running.over = True
            failure = Failure(cause=Cause.CANCELLED, what="It was cancelled.")
            self._clock.after(_KILL, lambda: self._cancelled(running, failure))

    def probe(self) -> None:
        """Render a small scene, and say how it went."""
        dice = Random(f"{self._seed}/{self.id}/probe/{self._clock.now}")
        wrong = "Blender crashed." if self._machine.broken and dice.random() < 0.5 else ""
        self._clock.after(_PROBE, lambda: self._probed(wrong))

    def _probed(self, wrong: str) -> None:
        if self._here:
            self._hear(told.WorkerProbed(self.id, wrong))

    def _join(self) -> None:
        now = self._clock.now
        if not self._here and not any(start <= now < end for start, end in self._machine.gone):
            self._here = True
            self._measured.joined(self.id)
            self._hear(told.WorkerJoined(self._machine.info))

    def _leave(self) -> None:
        """Its owner takes it back: what runs is given up with a word, then the worker is gone."""
        if not self._here:
            return
        running = self._stop()
        if running is not None:
            failure = Failure(cause=Cause.PREEMPTED, what=f"{self.id} was taken back.")
            self._hear(told.Failed(running.order.attempt_id, failure))
        self._gone()

    def _gone(self) -> None:
        self._here = False
        self._warm = Warmth()
        self._measured.left(self.id)
        self._hear(told.WorkerLost(self.id))

    def _stop(self) -> _Running | None:
        running, self._running = self._running, None
        if running is not None:
            running.over = True
            self._measured.ended(running.order.attempt_id)
        return running

    def _tell_of(self, running: _Running) -> None:
        """Progress, as Cycles counts it: only of what is rendered."""
        seconds = running.fate.seconds
        if running.key.kind not in (TaskKind.FRAME, TaskKind.TILE) or not self._measured.listens:
            return
        begins = self._clock.now + seconds.load
        self._clock.at(begins, lambda: self._progress(running, Progress(phase="syncing")))
        begins += seconds.sync
        times = max(1, min(_TOLD, int(seconds.render / _TELL)))
        if running.fate.failure is not None and running.fate.failure.cause is Cause.HANG:
            times = 0
        for number in range(times):
            counted = Progress.model_construct(
                phase="rendering", sample=_SAMPLES * number // times, samples=_SAMPLES, layer="ViewLayer"
            )
            at = begins + seconds.render * number / times
            self._clock.at(at, lambda counted=counted: self._progress(running, counted))  # type: ignore[misc]

    def _progress(self, running: _Running, progress: Progress) -> None:
        if not running.over:
            self._hear(told.Progressed(running.order.attempt_id, progress))

    def _end(self, running: _Running) -> None:
        if running.over:
            return
        self._stop()
        key, found = running.key, running.fate
        if found.ends_process:
            self._warm = Warmth()
        elif key.kind in _APART:
            if self._warm.scene_id != running.order.scene_id:
                self._warm = Warmth()  # its session was of another scene
        else:
            at = (key.job_id, key.frame) if key.frame is not None else None
            self._warm = Warmth(running.order.scene_id, at)
        if found.result is not None:
            self._hear(told.Succeeded(running.order.attempt_id, found.result))
        elif found.failure is not None:
            self._hear(told.Failed(running.order.attempt_id, found.failure))
        else:
            self._gone()
            self._clock.after(RESTART, self._join)

    def _cancelled(self, running: _Running, failure: Failure) -> None:
        if self._running is running:  # else the whole worker was lost meanwhile
            self._stop()
            if running.key.kind not in _APART:
                self._warm = Warmth()
            self._hear(told.Failed(running.order.attempt_id, failure))
