"""What results tell: the costs of their job, and how quick their worker is."""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch.covering import cover_of
from farm.dispatch.desk import Desk
from farm.dispatch.paying import learned_of
from farm.dispatch.state import Attempt, Frame, Job, Worker
from farm.domain.scene import SceneReport
from farm.domain.task import TaskKind
from farm.domain.work import Result, Seconds
from farm.planning.learned import scaled
from farm.planning.model import share_of
from farm.planning.split import area_of

#: Costs are written down at most so often: each time costs a write and an event.
_TELL_SECONDS = 2.0
#: What the latest task of a worker counts for its speed, and the least seconds that tell anything of it.
_NEWEST = 0.3
_TELLING = 0.5
_SLOWEST, _QUICKEST = 1 / 32, 32.0


def learn(desk: Desk, job: Job, frame: Frame | None, attempt: Attempt, result: Result) -> None:
    """A result is committed: it tells what rendering costs, and how quick its worker is."""
    if frame is None or job.plan is None:
        return
    worker = desk.state.workers.get(attempt.worker_id)
    speed, key, seconds = worker.speed if worker else 1.0, attempt.key, result.seconds
    learned, name = learned_of(job), attempt.worker_id
    known = job.costs.seen > 0
    if key.kind is TaskKind.FINISH:
        pieces = sum(frame.pieces[tile].seconds for tile in cover_of(job, frame) or ())
        learned.finished(seconds, pieces, speed)
    elif key.kind is TaskKind.VERIFY:  # by a process of its own each time: all of it is to be paid again
        whole = Seconds(render=seconds.total, total=seconds.total)
        learned.rendered(name, frame.number, whole, 1.0, speed, whole=True)
    else:
        plan = job.plan_of(frame)
        share = 1.0 if key.tile is None else share_of(plan, key.tile)
        warm = name in learned.at and not seconds.load
        if worker is not None and known and warm:
            anew = learned.at.get(name) != frame.number
            expected = job.costs.render * share + (job.costs.sync if anew else 0.0)
            _judge(worker, expected, seconds.render + (seconds.sync if anew else 0.0))
        learned.rendered(name, frame.number, seconds, share, speed, whole=key.tile is None)
    job.costs = learned.costs()
    if key.kind is not TaskKind.TILE and desk.now - job.told_costs >= _TELL_SECONDS:
        tell(desk, job)


def tell(desk: Desk, job: Job) -> None:
    """Have what is known of a job's costs written down, where there is anything new."""
    if job.learned is None:
        return
    job.costs, job.told_costs = job.learned.costs(), desk.now
    desk.out.append(do.CostsMeasured(job.id, job.costs))


def use_earlier(job: Job, report: SceneReport) -> None:
    """What an earlier job of the scene cost is what this one is expected to cost, by its own size."""
    if job.earlier_costs is None or job.costs.seen or job.proves is not None:
        return
    costs, then = job.earlier_costs
    if then > 0 and costs.seen and job.plan is None:
        job.costs = scaled(costs, _samples(job, report) / then)
        if job.learned is not None:  # its inspection was paid
            job.learned.before = job.costs


def _samples(job: Job, report: SceneReport) -> float:
    """Pixels times samples of a frame of the job."""
    area = area_of(report, report.size(job.settings.scale))
    return float(area.width * area.height * max(1, job.settings.samples or report.samples))


def _judge(worker: Worker, expected: float, took: float) -> None:
    """How quick a worker is, from what others led to expect of a task."""
    if min(expected / worker.speed, took) < _TELLING:
        return
    weight = 0.5 if worker.speed == 1.0 else _NEWEST  # nothing is known yet
    speed = worker.speed * (1 - weight) + expected / took * weight
    worker.speed = min(max(speed, _SLOWEST), _QUICKEST)
