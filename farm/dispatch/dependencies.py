"""Jobs that come after others, as a whole or frame by frame."""

from __future__ import annotations

from dataclasses import dataclass

from farm.dispatch.state import Ended, Job, State
from farm.domain.frames import FIRST_FRAME, LAST_FRAME
from farm.domain.plan import Plan
from farm.domain.states import JobState

#: What is missing of a job that has ended before it had a plan.
ALL_FRAMES = range(FIRST_FRAME, LAST_FRAME + 1)


@dataclass(frozen=True, slots=True)
class NotDone:
    """Frames of a plan that are not done, never listed: those not opened yet, and of the others some."""

    plan: Plan
    opened: int
    lacking: frozenset[int]

    def __contains__(self, frame: object) -> bool:
        if frame in self.lacking:
            return True
        return isinstance(frame, int) and frame in self.plan.frame_range and not self._opened(frame)

    def _opened(self, frame: int) -> bool:
        return self.plan.number_of(frame) < self.opened


def ended(job: Job, state: JobState) -> Ended:
    """What is left to know of a job that is about to end like this, its open frames included."""
    if state is JobState.DONE:
        return Ended(state)
    if job.plan is None:
        return Ended(state, ALL_FRAMES)
    lacking = frozenset(job.failed_frames.keys() | job.frames.keys() | job.again)
    return Ended(state, NotDone(job.plan, job.opened, lacking))


def waits_for(state: State, job: Job, frame: int | None = None) -> str | None:
    """The first of the jobs that ``job`` comes after for which it, or a frame of it, has to wait; or None.

    Without a frame: what lets nothing of the job begin. Where it comes after others frame by frame, that
    is nothing.
    """
    if not job.control.after or (frame is None and job.control.frame_wise):
        return None
    for other in job.control.after:
        done = _done(state, other) if not job.control.frame_wise else _has(state, other, frame)
        if not done:
            return other
    return None


def held_up(state: State, job: Job, ahead: int) -> int | None:
    """How many of the frames to be opened next wait for other jobs, before the first that waits for none.

    None where all of the next ``ahead`` frames wait, or none is left.
    """
    plan = job.plan
    if plan is None:
        return None
    coming = range(job.opened, min(job.opened + ahead, plan.count))
    free = (at for at in coming if waits_for(state, job, plan.frame_at(at)) is None)
    return next((at - job.opened for at in free), None)


def in_circle(state: State, job: Job) -> bool:
    """Whether a job waits for itself, by way of others."""
    seen: set[str] = set()
    coming = list(job.control.after)
    while coming:
        other = coming.pop()
        if other == job.id:
            return True
        if other not in seen and other in state.jobs:
            seen.add(other)
            coming += state.jobs[other].control.after
    return False


def _done(state: State, other: str) -> bool:
    left = state.ended.get(other)
    return other not in state.jobs and left is not None and left.state is JobState.DONE


def _has(state: State, other: str, frame: int | None) -> bool:
    """Whether ``frame`` is done of another job; one that it does not have is."""
    job = state.jobs.get(other)
    if job is None:
        left = state.ended.get(other)
        return left is not None and (left.state is JobState.DONE or frame not in left.missing)
    plan = job.plan
    if plan is None or frame is None:
        return False
    if frame not in plan.frame_range:
        return True
    begun = plan.number_of(frame) < job.opened
    return begun and frame not in job.frames and frame not in job.failed_frames and frame not in job.again
