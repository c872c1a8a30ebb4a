"""Watching a job to its end, and fetching its frames as they finish."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from shlex import quote

from farm.cli.briefing import plan_in_words, warnings
from farm.cli.collect import Collector, Delivered, Files
from farm.cli.progress import Display
from farm.cli.speaker import Speaker
from farm.cli.tally import Tally
from farm.cli.words import duration
from farm.client.client import FarmClient
from farm.domain.errors import BadInput, Conflict, StorageFull, TesseraError
from farm.domain.events import EventKind
from farm.domain.scene import Finding
from farm.domain.states import JOB_ENDED, JobState, TaskState
from farm.domain.telling import held, in_local_time, standing
from farm.domain.views import FrameView, JobView

_MANY_FAILED = 5
#: After these a job stands otherwise than its last view says.
_TURNS = (EventKind.JOB_STATE, EventKind.JOB_WAITS, EventKind.JOB_CONTROL, EventKind.JOB_COSTS)


@dataclass(slots=True)
class Outcome:
    """A job as it stands, and what was fetched of it so far."""

    job: JobView
    delivered: dict[int, Delivered] = field(default_factory=dict)
    movies: Files = field(default_factory=Files)
    failed: dict[int, str] = field(default_factory=dict)  # frame: why

    def as_json(self) -> dict[str, object]:
        """For --json: job, state, frames in ascending order, movies."""
        return {
            "job": self.job.id,
            "state": self.job.state.value,
            "frames": [self.delivered[frame].as_json() for frame in sorted(self.delivered)],
            "videos": self.movies.outputs,
        }

    def problem(self) -> TesseraError | None:
        """What keeps this from being a success."""
        job = self.job
        if job.state is JobState.CANCELLED:
            return Conflict(f"Job {job.id} was cancelled.", f"Finished frames stay: farm fetch {job.id}")
        if job.state is JobState.FAILED:
            told = [f"Frame {frame}: {why}" for frame, why in sorted(self.failed.items()) if why]
            more = f" And {len(told) - _MANY_FAILED} more." if len(told) > _MANY_FAILED else ""
            what = job.error or " ".join(told[:_MANY_FAILED]) + more or f"Job {job.id} failed."
            return BadInput(what, job.cure or f"See what happened with: farm show {job.id}")
        return self.in_the_way()

    def in_the_way(self) -> TesseraError | None:
        """The error for files that were there already and stayed."""
        kept = [path for one in (*self.delivered.values(), self.movies) for path in one.kept]
        if not kept:
            return None
        more = f" and {len(kept) - 1} more were" if len(kept) > 1 else " was"
        return Conflict(
            f"“{kept[0]}”{more} there already and stayed.",
            f"Bring them elsewhere: farm fetch {self.job.id} --out OTHER, or add --overwrite.",
        )


class InTheWay(Conflict):
    """The very first frame found its place taken, while others are still to be rendered."""


class Follower:
    """Follows one job. `outcome` is right at any moment, also after an interrupt.

    ``told`` are the findings that the artist has read before the job was sent; ``done`` is the word for
    a frame that is.
    """

    def __init__(
        self,
        client: FarmClient,
        job: JobView,
        speaker: Speaker,
        collector: Collector | None = None,
        told: tuple[Finding, ...] = (),
        done: str = "done",
    ) -> None:
        self._client, self._speaker, self._collector = client, speaker, collector
        self._word = done
        self._waits = ""  # for what the job waits, as it was last told
        self._told: tuple[Finding, ...] | None = told  # None: the plan was told too
        self.outcome = Outcome(job)

    def to_the_end(self, display: Display) -> Outcome:
        """Show the job and fetch its frames until it has ended; raises `TesseraError`.

        `InTheWay` comes early: where the first frame to arrive finds a file in its place, so will most
        of the others, and each costs rendering.
        """
        tally = Tally(self.outcome.job)
        display.show(tally)
        for events in self._client.follow(self.outcome.job.id):
            for event in events:
                if event.kind == EventKind.ATTEMPT_FAILED and event.data.get("retry"):
                    self._speaker.say(f"{event.data.get('words')}: {event.data.get('what')} Trying again.")
            finished = [frame for event in events if (frame := tally.take(event)) is not None]
            if any(event.kind == EventKind.JOB_PLANNED for event in events):
                self._look(tally)
            for frame in finished:
                self._done(self._client.frame(self.outcome.job.id, frame))
                self._check_the_first()
            if finished or not events or any(event.kind in _TURNS for event in events):
                self._look(tally)
            if not events:
                self._tell_waiting(tally.job)
            display.show(tally)
        self._look(tally)
        self.catch_up()
        return self.outcome

    def catch_up(self) -> None:
        """Fetch finished frames that no event told of, and the movies; take down the failed ones."""
        for frame in self._client.frames(self.outcome.job.id):
            self._done(frame)
        if self._collector is not None and self.outcome.job.videos:
            with self._room(self._collector):
                self.outcome.movies = self._collector.movies(self.outcome.job)
            if self.outcome.movies.outputs:
                self._speaker.say(f"Movie: {self.outcome.movies.names}")
            self._note_kept(self.outcome.movies)

    @contextmanager
    def _room(self, collector: Collector) -> Iterator[None]:
        """Say how to bring the rest where there is no room for it now."""
        try:
            yield
        except StorageFull as error:
            again = f"farm fetch {self.outcome.job.id} --out {quote(str(collector.folder))}"
            raise StorageFull(error.what, f"Free some space, then bring the rest with: {again}") from None

    def _note_kept(self, got: Files) -> None:
        for path in got.kept:
            self._speaker.note(f"“{path}” is there already and was left as it is.")

    def _look(self, tally: Tally) -> None:
        self.outcome.job = tally.job = job = self._client.job(tally.job.id)
        if job.plan is not None and self._told is not None:
            self._speaker.say(plan_in_words(job.plan))
            if not self._speaker.as_json:
                self._speaker.warn(warnings(job, self._told))
            self._told = None

    def _tell_waiting(self, job: JobView) -> None:
        """Say once for what it waits, where that has lasted a while: else nothing is to be seen."""
        if (why := standing(job)) and why != self._waits:
            told = in_local_time(job.waits, time.time())
            self._speaker.note(f"Job {job.id} is paused." if held(job) else told)
        self._waits = why

    def _check_the_first(self) -> None:
        """Raise `InTheWay` where the first frame met a file in its place and more are to be rendered."""
        delivered = list(self.outcome.delivered.values())
        if len(delivered) != 1 or not delivered[0].kept:
            return
        job = self._client.job(self.outcome.job.id)
        if job.state not in JOB_ENDED and job.frames.waiting + job.frames.running:
            path = delivered[0].kept[0]
            raise InTheWay(
                f"“{path}” is there already and was left as it is.",
                "Render to another folder with --out, or replace what is there with --overwrite.",
            )

    def _done(self, frame: FrameView) -> None:
        if frame.state is TaskState.FAILED:
            self.outcome.failed[frame.frame] = frame.error
        if frame.state is not TaskState.DONE or frame.frame in self.outcome.delivered:
            return
        got = Delivered(frame=frame.frame, seconds=frame.seconds)
        if self._collector is not None:
            with self._room(self._collector):
                got = self._collector.fetch(frame)
        self.outcome.delivered[frame.frame] = got
        took = "" if frame.seconds is None else f" in {duration(frame.seconds)}"
        self._speaker.say(f"Frame {frame.frame} {self._word}{took}" + (f": {got.names}" if got.names else ""))
        self._note_kept(got)
