"""How a job is dispatched, and that it is done again. All of it is asked of the dispatcher, which does it."""

from __future__ import annotations

from farm.domain.control import ControlChange
from farm.domain.errors import BadInput, Conflict
from farm.domain.frames import FrameRange
from farm.domain.job import Principal
from farm.domain.states import JOB_ENDED, JobState, TaskState
from farm.domain.views import FramesRequest, JobView
from farm.service import dependencies, notes, wishes
from farm.service.context import Farm
from farm.service.describe import describe_jobs, found
from farm.store import Connection, events, frames
from farm.store.events import IntentKind
from farm.store.jobs import JobRow


def change(farm: Farm, who: Principal, job_id: str, asked: ControlChange) -> JobView:
    """Have a job dispatched otherwise from now on; the answer shows it at once.

    Raises `NotFound`, `Conflict` where the job has ended or is being cancelled, `UsageError` for a value
    that is none, and as `dependencies.check` does.
    """
    del who
    with farm.store.write() as connection:
        job = found(connection, job_id)
        waiting = wishes.asked(connection)
        _check_open(job, waiting)
        had = waiting.control(job)
        control = asked.applied(had)
        dependencies.check(connection, control, waiting, job_id)
        if control != had:
            data = control.model_dump(mode="json")
            events.leave_intent(connection, farm.now(), job_id, IntentKind.CONTROL, data)
        told = control.model_copy(
            update={  # what was not asked for now has been told of before
                "start": None if asked.start in (None, 0) else control.start,
                "after": () if asked.after is None else control.after,
                "needs": type(control.needs)() if asked.needs is None else control.needs,
            }
        )
        view = describe_jobs(connection, [job])[0]
        return view.model_copy(update={"notes": notes.of(connection, told, job.settings.device, farm.now())})


def _check_open(job: JobRow, waiting: wishes.Asked) -> None:
    if job.id in waiting.cancelling:
        raise Conflict(f"Job {job.id} is being cancelled.", f"Go on with it afterwards: farm retry {job.id}")
    if job.state not in JOB_ENDED or job.id in waiting.retrying:
        return
    cure = (
        f"Render it once more with: farm rerender {job.id}"
        if job.state is JobState.DONE
        else f"Go on with what is missing, then change it: farm retry {job.id}"
    )
    raise Conflict(f"Job {job.id} is {job.state} already.", cure)


def retry(farm: Farm, who: Principal, job_id: str) -> JobView:
    """Go on with what is missing of a job that has failed or was cancelled; of an open one, what failed.

    Asking twice is fine. Raises `NotFound`, and `Conflict` where nothing is missing or has failed.
    """
    del who
    with farm.store.write() as connection:
        job = found(connection, job_id)
        waiting = wishes.asked(connection, job_id)
        if job.state is JobState.DONE:
            raise Conflict(
                f"Job {job_id} is done: nothing of it is missing.",
                f"Render it once more with: farm rerender {job_id}",
            )
        if job.state in JOB_ENDED:
            if job_id not in waiting.retrying:
                events.leave_intent(connection, farm.now(), job_id, IntentKind.RETRY)
        else:
            _requeue_failed(farm, connection, job, waiting)
        return describe_jobs(connection, [job])[0]


def requeue(farm: Farm, who: Principal, job_id: str, asked: FramesRequest) -> JobView:
    """Begin frames of an open job again: those of ``asked`` that run, and that failed; None: all that failed.

    Raises `NotFound`, `BadInput` for frames that the job does not have, and `Conflict` where it has ended
    or none of the frames runs or has failed.
    """
    del who
    with farm.store.write() as connection:
        job = found(connection, job_id)
        waiting = wishes.asked(connection, job_id)
        if job.state in JOB_ENDED:
            raise Conflict(f"Job {job_id} has ended: it is {job.state}.", _cure(job, asked.frames))
        if asked.frames is None:
            _requeue_failed(farm, connection, job, waiting)
        else:
            _check_cancelling(job, waiting)
            _check_frames(connection, job, FrameRange.parse(asked.frames))
            data: dict[str, object] = {"frames": asked.frames}
            events.leave_intent(connection, farm.now(), job_id, IntentKind.REQUEUE, data)
        return describe_jobs(connection, [job])[0]


def _requeue_failed(farm: Farm, connection: Connection, job: JobRow, waiting: wishes.Asked) -> None:
    _check_cancelling(job, waiting)
    if not frames.counts(connection, {job.id: job.opened})[job.id].get(TaskState.FAILED, 0):
        raise Conflict(
            f"No frame of job {job.id} has failed.",
            f"Name frames that render, to have them begin again: farm retry {job.id} --frames 3-7",
        )
    events.leave_intent(connection, farm.now(), job.id, IntentKind.REQUEUE, {})


def _check_cancelling(job: JobRow, waiting: wishes.Asked) -> None:
    if job.id in waiting.cancelling:
        raise Conflict(f"Job {job.id} is being cancelled.", f"Go on with it afterwards: farm retry {job.id}")


def _cure(job: JobRow, asked: str | None) -> str:
    anew = f"Render frames of it anew with: farm rerender {job.id}" + (f" --frames {asked}" if asked else "")
    if job.state is JobState.DONE:
        return anew
    return f"Go on with all that is missing: farm retry {job.id}. {anew}"


def _check_frames(connection: Connection, job: JobRow, wanted: FrameRange) -> None:
    """Raise where the job lacks one of the frames, or none of them runs or has failed."""
    if job.plan is None:
        raise Conflict(
            f"Job {job.id} has no frames yet: it is {job.state}.", "Frames are there once it is planned."
        )
    strange = job.plan.frame_range.lacking(wanted)
    if strange is not None:
        raise BadInput(f"Job {job.id} has no frame {strange}.", f"Its frames are {job.plan.frames}.")
    rows = frames.in_states(connection, job.id, [TaskState.RUNNING, TaskState.FAILED])
    if not any(row.frame in wanted for row in rows):
        raise Conflict(
            f"None of the frames {wanted} of job {job.id} renders or has failed.",
            f"Frames that are done are rendered anew by: farm rerender {job.id} --frames {wanted}",
        )
