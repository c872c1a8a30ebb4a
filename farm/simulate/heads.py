"""What decides in a simulated farm: ours, the core that dispatches real ones, and two plain ways to compare.

A head is told what happens and answers with instructions, as `farm.dispatch.core.Core` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Protocol

from farm.dispatch import events as told
from farm.dispatch.core import Core
from farm.dispatch.instructions import Instruction
from farm.dispatch.state import Job, State
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


#: How a head is made, by the name of its policy.
POLICIES: Mapping[str, Callable[[], Head]] = {
    "ours": OurHead,
    "whole-fifo": lambda: PlainHead(1),
    "fixed-chunks": lambda: PlainHead(CHUNK),
}
