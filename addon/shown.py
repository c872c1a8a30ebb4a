"""What the panel shows of a submission: a frozen value that the worker thread replaces as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .packing import Finding
from .words import number, size, within


class Phase(Enum):
    """Where a submission is; the value is the word for it, the same as on the farm's page."""

    PACKING = "Packing"
    UPLOADING = "Uploading"
    WAITING = "Waiting"
    INSPECTING = "Inspecting"
    RENDERING = "Rendering"
    DONE = "Done"
    FAILED = "Failed"
    CANCELLED = "Cancelled"

    @property
    def ended(self) -> bool:
        return self in (Phase.DONE, Phase.FAILED, Phase.CANCELLED)


@dataclass(frozen=True)
class Shown:
    """A submission as the panel shows it. ``step`` of ``steps`` are bytes or frames, by phase."""

    name: str
    phase: Phase = Phase.PACKING
    job_id: str = ""
    page: str = ""  # address of the job's page
    folder: str = ""
    step: int = 0
    steps: int = 0
    left: tuple[float, float] | None = None  # seconds, nine times of ten
    paused: bool = False
    standing: str = ""  # why nothing of it is begun
    failed_frames: int = 0
    plan: str = ""
    waiting: str = ""  # what is waited for now
    news: str = ""  # the latest thing that went wrong and was helped
    findings: tuple[Finding, ...] = ()
    what: str = ""  # why it failed
    cure: str = ""
    pictures: tuple[str, ...] = ()  # brought to this machine, the latest last
    kept: int = 0  # other files that were in the way, left as they were
    cancelling: bool = False
    working: bool = True  # a thread is at it
    gave_up: bool = False  # the thread did, though the job may go on

    @property
    def words(self) -> str:
        """Progress in words; only what was counted."""
        if self.cancelling and not self.phase.ended:
            return "Stopping"
        if self.phase in (Phase.PACKING, Phase.UPLOADING) and self.steps:
            return f"{self.phase.value}, {size(self.step)} of {size(self.steps)}"
        if self.job_id and self.steps:
            told = f"{self.phase.value}, {self.step} of {number(self.steps, 'frame')}"
            if self.phase is Phase.RENDERING and self.left is not None and not self.standing:
                told += f", {within(*self.left)} left"
            return told
        return self.phase.value

    @property
    def factor(self) -> float:
        return min(1.0, self.step / self.steps) if self.steps else 0.0
