"""Frames that are begun again because a user wants it: of a job that goes on, or of one that had ended."""

from __future__ import annotations

from collections.abc import Mapping

from farm.dispatch import instructions as do
from farm.dispatch import late
from farm.dispatch.desk import Desk
from farm.dispatch.starting import open_tasks
from farm.dispatch.state import Earlier, Frame, Job
from farm.domain.frames import FrameRange
from farm.domain.states import JobEvent, TaskEvent, TaskState

_ASKED = "It was asked to be rendered again."


def requeue(desk: Desk, job: Job, frames: FrameRange | None) -> None:
    """Begin frames again: those that failed, and with ``frames`` only these, but also where they run.

    What is done stays done, and what waits goes on waiting.
    """
    if job.plan is None:
        return
    for number in sorted(job.failed_frames):
        if frames is None or number in frames:
            del job.failed_frames[number]
            _begin_again(desk, job, Frame(number, TaskState.FAILED))
    for frame in list(job.frames.values()):
        if frames is not None and frame.number in frames and frame.state is TaskState.RUNNING:
            for task in desk.tasks_of(job, frame.number):
                desk.abandon(job, task)
            _begin_again(desk, job, frame)


def retry(desk: Desk, job: Job) -> None:
    """A job that failed or was cancelled waits again, with those of its frames that did.

    ``job`` is as `farm.dispatch.again` loads it: its frames that are not done in `Job.frames`, with what an
    earlier job left of them; no task is open.
    """
    desk.change_job(job, JobEvent.RETRY)
    job.failed_frames.clear()
    for frame in list(job.frames.values()):
        pieces = {tile: piece.ref for tile, piece in frame.pieces.items()}
        _again(desk, job, frame, Earlier(frame.render_class, pieces))


def found(desk: Desk, job: Job, frames: Mapping[int, Earlier]) -> None:
    """It is known what the earlier job left of frames: those that were to be begun again are."""
    for number in sorted(job.again & frames.keys()):
        job.again.discard(number)
        if job.plan is not None:
            frame = job.frames[number] = Frame(number)
            open_tasks(desk, job, job.plan, frame, frames[number])
    job.ahead.update({number: earlier for number, earlier in frames.items() if number not in job.frames})


def resume(desk: Desk, job: Job) -> None:
    """After a restart: frames that were to be begun again, and of which no task was open yet."""
    bare = [frame for frame in job.frames.values() if not desk.tasks_of(job, frame.number)]
    for frame in bare:
        if frame.state is TaskState.WAITING and (job.proves is not None or job.adds_to is not None):
            del job.frames[frame.number]
            job.again.add(frame.number)


def _begin_again(desk: Desk, job: Job, frame: Frame) -> None:
    """A frame begins again; where an earlier job left some of it, once that is known."""
    if job.proves is None and job.adds_to is None:
        _again(desk, job, frame, Earlier())
        return
    _anew(desk, job, frame)
    job.frames.pop(frame.number, None)
    job.ahead.pop(frame.number, None)
    job.again.add(frame.number)


def _again(desk: Desk, job: Job, frame: Frame, earlier: Earlier) -> None:
    _anew(desk, job, frame)
    if job.plan is not None:
        anew = job.frames[frame.number] = Frame(frame.number)
        open_tasks(desk, job, job.plan, anew, earlier)


def _anew(desk: Desk, job: Job, frame: Frame) -> None:
    desk.step_frame(job, frame, TaskEvent.ANEW)
    desk.out.append(do.FrameAnew(job.id, frame.number, _ASKED))
    late.drop(desk, job, frame)
