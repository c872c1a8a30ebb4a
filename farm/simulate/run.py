"""One run: a scenario under a policy, from the first arrival until all jobs have ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.domain.errors import TesseraError
from farm.simulate.clock import Clock
from farm.simulate.heads import Head
from farm.simulate.measured import Measured
from farm.simulate.scenario import Scenario, Submitted
from farm.simulate.worker import SimulatedWorker

#: Seconds of a turn: what happens in one is heard at its time, then idle workers are given work.
_TURN = 0.01
#: Seconds after which the head looks again where nothing happens.
_LOOK = 5.0
#: Only progress was heard: the head looks again after this.
_SOON = 1.0
#: A farm with open jobs on which nobody has worked for so long is stuck.
_STUCK = 2 * 86_400.0


class Run:
    """A farm with its own clock. `watch` is called after each look, with the time."""

    def __init__(self, scenario: Scenario, head: Head, watch: Callable[[float], None] | None = None) -> None:
        self.scenario = scenario
        self.clock = Clock()
        self.measured = Measured(self.clock, head.listens)
        self._head = head
        self._watch = watch
        self._jobs = {job.id: job for job in scenario.jobs}
        self._due = True  # something happened that may have work to be given out
        self._looked = self._at_work = 0.0
        self._workers = {
            worker.id: worker
            for worker in (
                SimulatedWorker(
                    machine,
                    self._jobs,
                    scenario.failures,
                    scenario.seed,
                    self.clock,
                    self._hear,
                    self.measured,
                )
                for machine in scenario.machines
            )
        }

    def play(self) -> Measured:
        """Until all jobs have ended; raises `TesseraError` where they never do."""
        for worker in self._workers.values():
            worker.start()
        for job in self.scenario.jobs:
            self.clock.at(job.arrival, lambda job=job: self._submit(job))  # type: ignore[misc]
        self._look()
        while len(self.measured.ends) < len(self._jobs):
            due = self.clock.next
            at = min(self._looked + _LOOK, self._looked + _LOOK if due is None else due + _TURN)
            self.clock.turn(at)
            if self._due or at - self._looked >= _SOON:
                self._look()
            if self.measured.running or at < self.scenario.jobs[-1].arrival:
                self._at_work = at
            if at - self._at_work > _STUCK:
                left = sorted(self._jobs.keys() - self.measured.ends.keys())
                raise TesseraError(
                    f"The simulated farm is stuck: {len(left)} jobs never end, first {', '.join(left[:3])}.",
                    "A worker that some of them need is missing in the trace, or the policy forgets them.",
                )
        return self.measured

    def _look(self) -> None:
        self._due = False
        self._looked = self.clock.now
        self._carry_out(self._head.assign(self.clock.now))
        if self._watch is not None:
            self._watch(self.clock.now)

    def _submit(self, job: Submitted) -> None:
        self._due = True
        self._carry_out(self._head.submit(job, self.clock.now))

    def _hear(self, event: told.Event) -> None:
        self._due = self._due or not isinstance(event, told.Progressed)
        self._carry_out(self._head.hear(event, self.clock.now))

    def _carry_out(self, instructions: Iterable[do.Instruction]) -> None:
        for instruction in instructions:
            self.measured.decided(instruction)
            match instruction:
                case do.SendOrder(worker_id, order):
                    self._workers[worker_id].order(order)
                case do.CancelAttempt(worker_id, attempt_id):
                    self._workers[worker_id].cancel(attempt_id)
                case do.ProbeWorker(worker_id):
                    self._workers[worker_id].probe()
