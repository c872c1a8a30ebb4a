"""What is known of a job while it is watched: commits, and what Cycles counted. Nothing guessed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from farm.cli.words import duration
from farm.domain.events import EventKind
from farm.domain.states import JobState, TaskState
from farm.domain.telling import standing, within
from farm.domain.views import EventView, JobView


@dataclass(slots=True)
class Running:
    """What one attempt said last."""

    frame: int | None
    tile: int | None
    phase: str
    sample: int
    samples: int

    def __str__(self) -> str:
        where = "" if self.frame is None else f"frame {self.frame}"
        if self.tile is not None:
            where += f" tile {self.tile + 1}"
        counted = f"{self.sample}/{self.samples}" if self.samples else self.phase
        return f"{where} {counted}".strip()


@dataclass(slots=True)
class Tally:
    """The job's newest view and its running attempts; `take` brings an event in."""

    job: JobView
    last_done: float | None = None  # seconds since the epoch, by the farm's clock
    running: dict[str, Running] = field(default_factory=dict)

    def take(self, event: EventView) -> int | None:
        """Take an event in; the frame that it finished, if it did."""
        data: dict[str, Any] = dict(event.data)
        frame, tile = data.get("frame"), data.get("tile")
        if event.kind == EventKind.ATTEMPT_PROGRESS:
            self.running[str(data.get("attempt"))] = Running(
                frame, tile, str(data.get("phase", "")), data.get("sample", 0), data.get("samples", 0)
            )
        elif event.kind == EventKind.ATTEMPT_FAILED:
            self.running.pop(str(data.get("attempt")), None)
        elif event.kind == EventKind.TILE_STATE and data.get("state") != TaskState.RUNNING:
            self._forget(frame, tile)
        elif event.kind == EventKind.JOB_PLANNED:
            self._forget(None)  # the inspection is over
        elif event.kind == EventKind.FRAME_STATE and data.get("state") != TaskState.RUNNING:
            self._forget(frame)
            if data.get("state") == TaskState.DONE and isinstance(frame, int):
                self.last_done = event.time
                return frame
        return None

    def _forget(self, frame: int | None, tile: int | None = None) -> None:
        for attempt, one in list(self.running.items()):
            if one.frame == frame and tile in (None, one.tile):
                del self.running[attempt]

    @property
    def told(self) -> str:
        """Rate, time left and running samples; each only once it was measured."""
        job = self.job
        if why := standing(job):
            return why
        if job.state in (JobState.WAITING, JobState.INSPECTING):
            return "waiting for a worker" if job.state is JobState.WAITING else "reading the scene"
        parts = []
        if self.last_done is not None and job.started is not None and job.frames.done:
            parts.append(f"{duration((self.last_done - job.started) / job.frames.done)} a frame")
        if job.left is not None and job.state is JobState.RENDERING:
            parts.append(f"{within(job.left)} left")
        if job.frames.failed:
            parts.append(f"{job.frames.failed} failed")
        parts += [str(one) for one in self.running.values()][:2]
        if (more := len(self.running) - 2) > 0:
            parts.append(f"+{more}")
        return " · ".join(parts)
