"""Proofs: jobs that verify another job's frames, and what came out."""

from __future__ import annotations

from farm.domain.control import Control
from farm.domain.errors import BadInput, Conflict
from farm.domain.frames import FrameRange
from farm.domain.job import JobSpec, Principal, new_id
from farm.domain.plan import Plan
from farm.domain.states import JOB_ENDED, TaskState
from farm.domain.views import ProofView, Verification, VerifyRequest
from farm.service.context import Farm
from farm.service.describe import describe_jobs, found
from farm.store import Connection, frames, jobs, proofs
from farm.store.jobs import JobRow
from farm.store.proofs import ProofRow

#: Frames that one verification takes: each is rendered whole on one worker.
MOST_FRAMES = 10_000


def verify(farm: Farm, who: Principal, job_id: str, asked: VerifyRequest) -> Verification:
    """Start a job that renders frames of ``job_id`` whole, in plain Blender, and compares.

    No job where they were never cut. Raises `Conflict` before the job has ended or for frames that are
    not done, `BadInput` where no render of plain Blender is their equal, and `NotFound`.
    """
    with farm.store.write() as connection:
        job = found(connection, job_id)
        plan = _plan(job)
        wanted = _asked(job, plan, asked.frames)
        if plan.pieces_per_frame == 0 and not frames.any_recut(connection, job_id):
            return Verification(reason=f"Nothing to prove: the frames of job {job.id} were never cut.")
        _check_comparable(job, plan)
        chosen = _done(connection, job, wanted)
        spec = JobSpec(
            name=f"proof of {job.name}"[:200],
            scene_id=job.scene_id,
            settings=job.settings.model_copy(
                update={
                    "frames": str(chosen),
                    "tiles": "none",
                    "split": "tiles",
                    "first": None,
                    "video": False,
                    "keep_exr": False,
                }
            ),
            control=Control() if asked.priority is None else Control(priority=asked.priority),
            proves=job.id,
        )
        proof_id = new_id()
        jobs.add(connection, proof_id, who, spec, farm.now())
        jobs.change(
            connection,
            proof_id,
            report=None if job.report is None else job.report.model_dump_json(),
            plan=_whole(plan, chosen).model_dump_json(),
        )
        return Verification(job=describe_jobs(connection, [found(connection, proof_id)])[0])


def listed(
    farm: Farm, who: Principal, job_id: str, first: int, count: int, worst_first: bool = False
) -> list[ProofView]:
    """The latest proof of each verified frame of a job; of a proof, those that it made itself.

    In the order of the frames, or those that differ first: ``count`` from the ``first``-th on.
    """
    del who
    with farm.store.read() as connection:
        job = found(connection, job_id)
        proved, by = (job.id, None) if job.proves is None else (job.proves, job.id)
        rows = proofs.of_job(connection, proved, by, first, count, worst_first)
    return [_view(row) for row in rows]


def of_frame(farm: Farm, who: Principal, job_id: str, frame: int) -> ProofView | None:
    """The latest proof of one frame; None where it was never verified."""
    del who
    with farm.store.read() as connection:
        job = found(connection, job_id)
        row = proofs.of_frame(connection, job.proves or job.id, frame)
    return None if row is None else _view(row)


def _view(row: ProofRow) -> ProofView:
    return ProofView(frame=row.frame, by_job=row.by_job, time=row.time, proof=row.proof)


def _plan(job: JobRow) -> Plan:
    if job.proves is not None:
        raise BadInput(
            f"Job {job.id} is itself the proof of job {job.proves}.",
            f"Verify that one: farm verify {job.proves}",
        )
    if job.state not in JOB_ENDED:
        raise Conflict(
            f"Job {job.id} has not ended yet: it is {job.state}.",
            f"Verify it once it is done. Wait for that with: farm watch {job.id}",
        )
    if job.plan is None:
        raise Conflict(
            f"Job {job.id} has no frames: it ended before its scene was read.",
            f"See what happened with: farm show {job.id}",
        )
    return job.plan


def _asked(job: JobRow, plan: Plan, asked: str | None) -> FrameRange | None:
    """The frames asked for, all of them frames of the job; None: all that are done."""
    if asked is None:
        return None
    wanted = FrameRange.parse(asked)
    strange = plan.frame_range.lacking(wanted)
    if strange is not None:
        raise BadInput(f"Job {job.id} has no frame {strange}.", f"Its frames are {plan.frames}.")
    return wanted


def _check_number(count: int) -> None:
    if count > MOST_FRAMES:
        raise BadInput(
            f"{count:,} frames are more than the {MOST_FRAMES:,} that are verified at once.",
            "Choose some of them with --frames.",
        )


def _check_comparable(job: JobRow, plan: Plan) -> None:
    """Raise `BadInput` for frames that hold other samples than one render of plain Blender."""
    if any(part.seed for part in plan.ranges):
        raise BadInput(
            f"The frames of job {job.id} average independent samples: no single render is their equal.",
            f"Render all samples anew to have frames that can be verified: farm rerender {job.id}",
        )
    if not plan.ranges:
        return
    total, there = plan.ranges[0].total, sum(part.count for part in plan.ranges)
    if there < total:
        raise BadInput(
            f"The frames of job {job.id} hold {there} of {total} samples so far, and a whole render all.",
            f"Add the others, then verify that job: farm rerender {job.id} --samples {total}",
        )


def _done(connection: Connection, job: JobRow, wanted: FrameRange | None) -> FrameRange:
    """The frames to verify, which are all done: those asked for, or all that are."""
    if wanted is None:
        count = frames.counts(connection, {job.id: job.opened})[job.id].get(TaskState.DONE, 0)
        if not count:
            raise Conflict(
                f"Job {job.id} has no finished frame.", f"See what happened with: farm show {job.id}"
            )
        _check_number(count)
        rows = frames.in_states(connection, job.id, [TaskState.DONE])
        return FrameRange.only(row.frame for row in rows)
    _check_number(len(wanted))
    there = frames.of_job(connection, job.id, wanted)
    lacking = [n for n in wanted if n not in there or there[n].state is not TaskState.DONE]
    if lacking:
        more = f", nor are {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise Conflict(
            f"Frame {lacking[0]} of job {job.id} is not done{more}.",
            "Leave --frames out to verify all that are done.",
        )
    return wanted


def _whole(plan: Plan, chosen: FrameRange) -> Plan:
    count = f"{len(chosen):,} frame" + ("" if len(chosen) == 1 else "s")
    return plan.model_copy(
        update={
            "frames": str(chosen),
            "grid": None,
            "overlap": 0,
            "ranges": (),
            "taken": 0,
            "videos": (),
            "exact": True,
            "reason": f"{count}, rendered whole by plain Blender and compared",
            "recuts": (),
        }
    )
