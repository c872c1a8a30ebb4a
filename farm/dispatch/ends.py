"""How frames and jobs end, and the movie that is made when all frames are done."""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch.covering import cut
from farm.dispatch.dependencies import ended
from farm.dispatch.desk import Desk
from farm.dispatch.learning import tell
from farm.dispatch.policy import HOPELESS_FRAMES
from farm.dispatch.state import Frame, Job
from farm.domain.states import JOB, JobEvent, TaskEvent, step
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Failure

_FRAMES_ARE_THERE = "All its frames are done and can be fetched."
_OTHERS_ARE_THERE = "The other frames are done and can be fetched."
_OTHERS_ARE_PROVED = "The other frames were compared."


def end_frame(
    desk: Desk, job: Job, frame: Frame, event: TaskEvent, error: str = "", seconds: float | None = None
) -> None:
    """The end of a frame and of its open tasks. ``seconds``: of its committed attempts, if it is done.

    Its pieces are not needed any more, but for a job to which samples can be added.
    """
    desk.step_frame(job, frame, event)
    for task in desk.tasks_of(job, frame.number):
        desk.abandon(job, task)
    kept = job.keeps_pieces and event is TaskEvent.COMMIT
    if cut(job, frame) and not kept:
        desk.out.append(do.PiecesDropped(job.id, frame.number))
    desk.out.append(do.FrameChanged(job.id, frame.number, frame.state, seconds=seconds, error=error))
    del job.frames[frame.number]
    if event is TaskEvent.COMMIT:
        job.done += 1
    elif event is TaskEvent.FAIL:
        job.failed_frames[frame.number] = error


def maybe_end(desk: Desk, job: Job) -> None:
    """After the end of a frame: is this the end of the job, or has its movie still to be made?"""
    total = job.plan.count if job.plan else 0
    look = f"See what happened with: farm show {job.id}"
    if job.done == 0 and job.failed >= HOPELESS_FRAMES and job.done + job.failed < total:
        what = f"The first {job.failed} frames failed, so the others were not tried. {job.first_error}"
        end_job(desk, job, JobEvent.FAILED, what, look)
    elif job.done + job.failed < total:
        return
    elif job.failed:
        what = f"{job.failed} of {total} frames failed. {job.first_error}" if total > 1 else job.first_error
        others = _OTHERS_ARE_THERE if job.proves is None else _OTHERS_ARE_PROVED
        end_job(desk, job, JobEvent.FAILED, what, others if job.done else look)
    elif job.plan is not None and job.plan.videos:
        desk.open_task(job, TaskKey(job.id, TaskKind.ENCODE))
    else:
        end_job(desk, job, JobEvent.COMPLETED)


def movie_failed(desk: Desk, job: Job, failure: Failure) -> None:
    """A job whose frames are done and whose movie cannot be made has failed; the frames stay."""
    what = f"The movie could not be made: {failure.what}"
    end_job(desk, job, JobEvent.FAILED, what, f"{_FRAMES_ARE_THERE} {failure.cure}".strip())


def end_job(desk: Desk, job: Job, event: JobEvent, error: str = "", cure: str = "") -> None:
    """The end of a job; unless it is completed, what of it is open is cancelled."""
    state = step(JOB, job.state, event, f"job {job.id}")
    if job.id in desk.after:
        desk.state.ended[job.id] = ended(job, state)
    if event is not JobEvent.COMPLETED:
        job.frames |= {number: Frame(number) for number in job.again}
        job.again.clear()
        for frame in list(job.frames.values()):
            end_frame(desk, job, frame, TaskEvent.CANCEL)
        for task in list(job.tasks.values()):
            desk.abandon(job, task)
    tell(desk, job)
    desk.change_job(job, event, error, cure)
    desk.give_up(job)
