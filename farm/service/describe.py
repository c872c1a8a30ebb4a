"""Rows into the views that the API answers."""

from __future__ import annotations

from collections.abc import Sequence

from farm.domain.errors import Conflict, NotFound
from farm.domain.plan import Plan
from farm.domain.states import JOB_ENDED, TaskState
from farm.domain.views import AttemptView, FrameCounts, JobView, Made, OutputView
from farm.domain.work import Result
from farm.service import outlook, wishes
from farm.store import Connection, frames, jobs, outputs, proofs
from farm.store.jobs import JobRow
from farm.store.outputs import OutputRow
from farm.store.work import AttemptRow


def found(connection: Connection, job_id: str) -> JobRow:
    """The job's row; raises `NotFound` with a cure."""
    job = jobs.get(connection, job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id} on this farm.", "“farm jobs” lists the jobs there are.")
    return job


def planned(job: JobRow, frame: int) -> Plan:
    """The plan that has this frame; raises `NotFound`, or `Conflict` before the job is planned."""
    if job.plan is None:
        raise Conflict(
            f"Job {job.id} has no frames yet: it is {job.state}.", "Frames are there once it is planned."
        )
    if frame not in job.plan.frame_range:
        raise NotFound(f"Job {job.id} has no frame {frame}.", f"Its frames are {job.plan.frames}.")
    return job.plan


def describe_jobs(connection: Connection, rows: Sequence[JobRow]) -> list[JobView]:
    """Views of jobs, in their order, at a fixed number of queries."""
    ids = [job.id for job in rows]
    counted = frames.counts(connection, {job.id: job.opened for job in rows})
    previews = outputs.latest_previews(connection, ids)
    proved = proofs.counts(connection, ids)
    if verifications := {job.id: job.proves for job in rows if job.proves is not None}:
        proved |= proofs.made(connection, verifications)
    videos = outputs.movies(connection, ids)
    asked = wishes.asked(connection)
    numbers = {job.id: _counts(job, counted[job.id]) for job in rows}
    ahead = outlook.of(connection, rows, numbers)
    views = []
    for job in rows:
        left, price = ahead[job.id]
        views.append(
            JobView(
                id=job.id,
                name=job.name,
                owner=job.owner,
                state=job.state,
                scene_id=job.scene_id,
                settings=job.settings,
                created=job.created,
                started=job.started,
                ended=job.ended,
                frames=numbers[job.id],
                report=job.report,
                plan=job.plan,
                control=asked.control(job),
                waits="" if job.state in JOB_ENDED else job.waits,
                costs=job.costs,
                seconds_left=None if left is None else left.likely,
                left=left,
                price=price,
                cancelling=job.id in asked.cancelling and job.state not in JOB_ENDED,
                retrying=job.id in asked.retrying and job.state in JOB_ENDED,
                error=job.error,
                cure=job.cure,
                preview=previews.get(job.id),
                videos=tuple(map(describe_output, videos[job.id])),
                proves=job.proves,
                adds_to=job.adds_to,
                verified=proved[job.id][0],
                differing=proved[job.id][1],
            )
        )
    return views


def _counts(job: JobRow, opened: dict[TaskState, int]) -> FrameCounts:
    """Frames that were never opened have no row: they wait, or were cancelled with the job."""
    total = len(job.plan.frame_range) if job.plan else 0
    rest = total - sum(opened.values())
    over = job.state in JOB_ENDED
    return FrameCounts(
        total=total,
        waiting=opened.get(TaskState.WAITING, 0) + (0 if over else rest),
        running=opened.get(TaskState.RUNNING, 0),
        done=opened.get(TaskState.DONE, 0),
        failed=opened.get(TaskState.FAILED, 0),
        cancelled=opened.get(TaskState.CANCELLED, 0) + (rest if over else 0),
    )


def describe_output(row: OutputRow) -> OutputView:
    """A stored file, without where it lies."""
    return OutputView(
        id=row.id,
        role=row.file.role,
        name=row.file.name,
        bytes=row.file.blob.bytes,
        sha256=row.file.blob.sha256,
        media_type=row.file.media_type,
    )


def describe_attempt(row: AttemptRow, log_output_id: int | None = None) -> AttemptView:
    """A try, with the words of its failure if it has one."""
    seconds = row.result.seconds.model_dump() if row.result else {}
    return AttemptView(
        id=row.id,
        task=str(row.task),
        words=row.task.words,
        state=row.state,
        worker_id=row.worker_id,
        started=row.started,
        ended=row.ended,
        progress=row.progress,
        cause=row.failure.cause if row.failure else None,
        what=row.failure.what if row.failure else "",
        cure=row.failure.cure if row.failure else "",
        log_tail=row.failure.log_tail if row.failure else "",
        log_output_id=log_output_id,
        seconds=seconds,
        made=None if row.result is None else _made(row.result),
    )


def _made(result: Result) -> Made:
    return Made(
        render_class=result.render_class,
        device_name=result.device_name,
        driver=result.driver,
        seed=result.seed,
        peak_memory=result.peak_memory,
        notes=result.notes,
    )
