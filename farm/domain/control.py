"""How a job is dispatched: before which others, where, when, and how many of the workers it may have.

Nothing of this changes a picture; all of it but the order of the frames may be changed while the job runs.
"""

from __future__ import annotations

import re

from pydantic import Field, field_validator, model_validator

from farm.domain.errors import UsageError
from farm.domain.scene import Value

LOWEST, NORMAL, HIGHEST = 0, 50, 100
#: Seconds since the epoch: with the year 9999 the calendars of Python end.
LATEST = 253_370_764_800.0
#: Each is looked up whenever a wish is checked.
MOST_AFTER = 1000
#: A tag is a word that the owner of a worker gave it: “linux”, “rtx”, “studio-b”.
TAG = r"^[a-z0-9][a-z0-9._-]{0,39}$"


class Needs(Value):
    """What a worker must have to be given anything of a job but its inspection."""

    memory: int = Field(default=0, ge=0)  # bytes: of its GPU, or of the machine where it renders on the CPU
    tags: tuple[str, ...] = ()  # all of these

    @field_validator("tags")
    @classmethod
    def _words(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        for tag in tags:
            if not re.fullmatch(TAG, tag):
                raise UsageError(
                    f"“{tag}” is not a tag.", "Tags are short words of a-z, 0-9, dot, dash and underscore."
                )
        return tuple(sorted(set(tags)))


class Control(Value):
    """The wishes of whoever submitted a job, and of whoever changed them since."""

    priority: int = NORMAL  # of two jobs, the one with the higher number goes first
    paused: bool = False  # nothing new is begun; what runs goes on to its end
    start: float | None = None  # nothing is begun before, seconds since the epoch
    workers: int | None = Field(default=None, ge=1)  # so many at once, at most
    needs: Needs = Needs()
    after: tuple[str, ...] = ()  # jobs that have to be done before
    frame_wise: bool = False  # of those only the frame of the same number, where they have one
    #: In which order frames are begun that do not depend on each other: "preview" (first, last, middle,
    #: then as they come), "turn" (as they come), or "every:10" (each tenth, then the others).
    order: str = "preview"
    #: Whether a frame that no worker of its render class has the memory for may be rendered on another.
    other_class: bool = False

    @field_validator("priority")
    @classmethod
    def _in_range(cls, priority: int) -> int:
        if not LOWEST <= priority <= HIGHEST:
            raise UsageError(
                f"There is no priority {priority}.", f"Choose one from {LOWEST} (last) to {HIGHEST} (first)."
            )
        return priority

    @field_validator("start")
    @classmethod
    def _moment(cls, start: float | None) -> float | None:
        if start is not None and not 0 < start < LATEST:
            raise UsageError(
                f"{start:g} is not a moment to start at.", "Give seconds since 1970, before the year 9999."
            )
        return start

    @field_validator("after")
    @classmethod
    def _so_many(cls, after: tuple[str, ...]) -> tuple[str, ...]:
        if len(after) > MOST_AFTER:
            raise UsageError(
                f"A job cannot wait for {len(after):,} others.",
                f"Name {MOST_AFTER:,} at most, or make one job wait for them that the others wait for.",
            )
        return after

    @field_validator("order")
    @classmethod
    def _order(cls, order: str) -> str:
        if not re.fullmatch(r"preview|turn|every:[1-9][0-9]{0,5}", order):
            raise UsageError(f"“{order}” is not an order of frames.", "Write preview, turn, or every:10.")
        return order

    @model_validator(mode="after")
    def _each_once(self) -> Control:
        if len(set(self.after)) != len(self.after):
            raise UsageError("A job is named twice among those to wait for.", "Name each once.")
        return self


class ControlChange(Value):
    """What is to be changed of a job's control; what is not given stays: ``PATCH /api/jobs/{id}``."""

    priority: int | None = None
    paused: bool | None = None
    start: float | None = None  # 0: at once
    workers: int | None = Field(default=None, ge=0)  # 0: as many as there are
    needs: Needs | None = None
    after: tuple[str, ...] | None = None
    frame_wise: bool | None = None
    other_class: bool | None = None

    def applied(self, control: Control) -> Control:
        """``control`` with these changes; raises as `Control` does."""
        given = {name: value for name, value in self if value is not None}
        if self.start == 0:
            given["start"] = None
        if self.workers == 0:
            given["workers"] = None
        return Control.model_validate(control.model_dump() | {k: _plain(v) for k, v in given.items()})


def _plain(value: object) -> object:
    return value.model_dump() if isinstance(value, Value) else value
