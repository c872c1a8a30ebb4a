"""What decides in a simulated farm: ours, the core that dispatches real ones, and two plain ways to compare.

A head is told what happens and answers with instructions, as `farm.dispatch.core.Core` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Protocol

from farm.dispatch import events as told
from farm.dispatch.core import Core
from farm.dispatch.instructions import Instruction
from farm.dispatch.state import Attempt, Job, State
from farm.domain.costs import Span
from farm.domain.states import JobState
from farm.planning.estimate import time_left
from farm.planning.model import begun
from farm.simulate.plain import CHUNK, PlainHead
from farm.simulate.scenario import Submitted

#: The start of a simulated farm, in seconds since the epoch: the core's clock is a real one.
START = 1_000_000_000.0


class Head(Protocol):
    """Decides. `now` is in seconds from the start."""

    #: Whether it wants to hear of progress.
    listens: bool

    def submit(self, job: Submitted, now: float) -> Sequence[Instruction]:
        """A job comes in."""

    def hear(self, event: told.Event, now: float) -> Sequence[Instruction]:
        """Something happens."""

    def assign(self, now: float) -> Sequence[Instruction]:
        """Give idle workers something to do."""

    def says(self) -> Iterator[tuple[str, Span]]:
        """The seconds that it says are left, of each job of which it says any."""


class OurHead:
    """The dispatcher's own core, unchanged."""

    listens = True

    def __init__(self) -> None:
        numbers = count(1)
        self.core = Core(State(), lambda: f"a{next(numbers)}")

    def submit(self, job: Submitted, now: float) -> Sequence[Instruction]:
        """Take the job up, as the loop does with one from the database."""
        return self.core.take_up(
            Job(
                id=job.id,
                created=START + now,
                scene_id=job.manifest.scene_id,
                manifest=job.manifest,
                settings=job.settings,
                owner=job.user,
                control=job.control,
            )
        )

    def hear(self, event: told.Event, now: float) -> Sequence[Instruction]:
        return self.core.handle(event, START + now)

    def assign(self, now: float) -> Sequence[Instruction]:
        return self.core.assign(START + now)

    def says(self) -> Iterator[tuple[str, Span]]:
        """As `farm.service.outlook` says it, from the core's own state."""
        at_it: dict[str, list[Attempt]] = {}
        for attempt in self.core.state.attempts.values():
            at_it.setdefault(attempt.key.job_id, []).append(attempt)
        for job in self.core.state.jobs.values():
            running = at_it.get(job.id, [])
            if job.plan is None or job.state is not JobState.RENDERING:
                continue
            done: dict[int, dict[int | None, float]] = {
                number: dict.fromkeys(frame.pieces, 1.0) for number, frame in job.frames.items()
            }
            for attempt in running:
                counted = attempt.progress
                if counted is not None and counted.samples and attempt.key.frame is not None:
                    share, of_frame = counted.sample / counted.samples, done[attempt.key.frame]
                    of_frame[attempt.key.tile] = max(of_frame.get(attempt.key.tile, 0.0), share)
            there = sum(begun(job.plan_of(job.frames[number]), each) for number, each in done.items())
            frames = job.plan.count - job.done - job.failed - there
            left = time_left(job.costs, job.plan, max(frames, 0.0), len(running))
            if left is not None:
                yield job.id, left


#: How a head is made, by the name of its policy.
POLICIES: Mapping[str, Callable[[], Head]] = {
    "ours": OurHead,
    "whole-fifo": lambda: PlainHead(1),
    "fixed-chunks": lambda: PlainHead(CHUNK),
}
