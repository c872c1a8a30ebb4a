"""How a job begins: with the inspection of its scene, then the plan; or with the plan of another job."""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch.desk import Desk
from farm.dispatch.ends import end_job, maybe_end
from farm.dispatch.learning import use_earlier
from farm.dispatch.policy import can_render
from farm.dispatch.refusals import no_device
from farm.dispatch.remaining import hand
from farm.dispatch.state import Job
from farm.domain.errors import BadInput
from farm.domain.scene import SceneReport
from farm.domain.states import JobEvent
from farm.domain.task import TaskKey, TaskKind
from farm.planning import plan_job

#: Pieces, at least, for workers that are not idle yet.
_FEW = 8


def begin(desk: Desk, job: Job) -> None:
    """The first step of a job that waited; of one that was begun before, the next."""
    if job.plan is not None:
        _planned(desk, job)
        maybe_end(desk, job)
        return
    desk.change_job(job, JobEvent.INSPECT)
    desk.open_task(job, TaskKey(job.id, TaskKind.INSPECT))


def inspected(desk: Desk, job: Job, report: SceneReport) -> None:
    """From what the inspection found to a plan, or to the end of the job."""
    job.report = report
    desk.out.append(do.JobInspected(job.id, report))
    if report.errors:
        what = " ".join(found.what for found in report.errors)
        cure = " ".join(found.cure for found in report.errors)
        end_job(desk, job, JobEvent.FAILED, what, cure)
        return
    device = job.settings.device
    able = [worker for worker in desk.state.workers.values() if can_render(worker, device)]
    if not able:
        what, cure = no_device(device)
        end_job(desk, job, JobEvent.FAILED, what, cure)
        return
    there = None if job.adds_to is None else job.there
    try:
        use_earlier(job, report)
        hands = [hand(job, worker) for worker in able[: _share(desk, job, len(able))]]
        job.plan = plan_job(job.settings, report, len(able), there, job.costs, hands)
    except BadInput as error:
        end_job(desk, job, JobEvent.FAILED, error.what, error.cure)
        return
    _planned(desk, job)


def _share(desk: Desk, job: Job, workers: int) -> int:
    """For how many workers a job is cut: for all, where it has the farm to itself; else for those idle now.

    Each worker pays for the scene and the frame to be prepared: where all are at work, that is better spent
    on other frames. A few more pieces than that cost next to nothing, as one worker may render them all
    with the frame loaded, and whoever is free before the end can help. With more, it is cut finer then.
    """
    most = min(workers, job.control.workers or workers)
    alone = all(other is job or not desk.boards[other.id].running for other in desk.state.jobs.values())
    return most if alone else min(most, max(desk.roster.free, _FEW))


def _planned(desk: Desk, job: Job) -> None:
    assert job.plan is not None  # noqa: S101  of the callers
    if not job.opened:
        order = "turn" if job.plan.in_order else job.control.order
        job.plan = job.plan.model_copy(update={"order": order})
        desk.out.append(do.JobPlanned(job.id, job.plan))
    desk.change_job(job, JobEvent.PLANNED)
