"""The end of a job: frames that, begun whole, would end after everything else are opened already cut.

Whether a frame is cut, and in how many pieces, is decided when it is opened, for the workers as they are
then. What the model says of that is in `farm.planning.model`.
"""

from __future__ import annotations

from collections.abc import Sequence

from farm.dispatch.demand import may_come, others_wait
from farm.dispatch.desk import Desk
from farm.dispatch.fitness import serves, trusts
from farm.dispatch.policy import can_render, class_on, meets
from farm.dispatch.remaining import hand, seconds_left
from farm.dispatch.state import Decided, Job, State, Worker
from farm.domain.plan import Plan, Recut
from farm.domain.scene import SceneReport
from farm.domain.work import RenderClass
from farm.planning.area import TRIED, recut_of, ways_of
from farm.planning.cutting import about
from farm.planning.model import Hand, Way, best_way

#: A frame may end so much later than the others, as a share, before anything is cut for it.
_EVEN = 1.02
#: So many pieces are looked at, at most, to decide about one frame.
_MOST_PIECES = 4096
#: Of many workers and many frames, so many, at least, are looked at: others are like them.
_ENOUGH, _FEW = 128, 8
#: Up to so many workers a frame may be cut in as many pieces as there are.
_EXACTLY = 16
#: What was decided holds for so many seconds, and until so few of the frames are left, as a share: to look
#: at all workers for each frame would take longer than to render some.
_MOMENT = 1.0
_ALIKE = 0.75


def sizes_itself(job: Job) -> bool:
    """Whether the farm decides how frames of this job are cut, and may change its mind."""
    settings, plan = job.settings, job.plan
    return (
        plan is not None
        and settings.tiles == "auto"
        and not settings.by_samples
        and not plan.ranges
        and not plan.in_order
        and job.proves is None
        and job.adds_to is None
    )


def cut_of(desk: Desk, job: Job, left: int) -> tuple[Recut, str] | None:
    """How the next of the ``left`` last frames of a job is cut, and why; None where it stays whole.

    Those are the frames of which nothing is begun yet. Where other work waits, all stay whole: what a cut
    costs would be taken from that.
    """
    state, now = desk.state, desk.now
    plan, report = job.plan, job.report
    if plan is None or report is None or plan.grid or not sizes_itself(job) or not job.costs.seen:
        return None
    workers = len(state.workers)
    if left >= workers or left >= may_come(desk, job) or others_wait(desk, job):
        return None
    known = job.decided
    if known is None or not _holds(known, left, workers, now):
        known = job.decided = Decided(now, left, workers, _decide(state, job, plan, report, left, now))
    return known.cut


def _holds(known: Decided, left: int, workers: int, now: float) -> bool:
    """Whether it needs no new look: it was just decided for the same workers and about as many frames."""
    alike = left <= known.left and left > known.left * _ALIKE and workers == known.workers
    return alike and 0 <= now - known.when < _MOMENT


def _decide(
    state: State, job: Job, plan: Plan, report: SceneReport, left: int, now: float
) -> tuple[Recut, str] | None:
    costs = job.costs
    able = able_workers(state, job)
    if len(able) < 2 or left >= len(able):
        return None
    every = max(1, min(len(able) // _ENOUGH, left // _FEW))
    able, left = able[::every], left // every
    hands = [hand(job, worker, free) for worker, free in _free(state, able, now)]
    if _ends_with_the_others(job, left, hands):
        return None
    alike = of_one_class(job, able)
    if len(alike) < 2:
        return None
    share = sum(worker.speed for worker in alike) / sum(worker.speed for worker in able)
    frames = max(1, round(left * share))
    hands = [hand(job, worker, free) for worker, free in _free(state, alike, now)]
    ways = [way for way in ways_for(job, len(alike)) if way.pieces * frames <= _MOST_PIECES]
    choice = best_way(costs, frames, ways, hands)
    recut = recut_of(None, choice.way.pieces, plan, job.settings, report) if choice.way.pieces > 1 else None
    if recut is None:
        return None
    last = "the last frame" if left * every == 1 else f"the last {left * every} frames"
    why = (
        f"Cut in {choice.way.pieces}: so {last} will be done in {about(choice.seconds)} instead of "
        f"{about(choice.whole)}."
    )
    return recut, why


def able_workers(state: State, job: Job) -> list[Worker]:
    """Workers that may render for a job, and will not be kept from it by another."""
    control, device = job.control, job.settings.device
    able = [
        worker
        for worker in state.workers.values()
        if serves(worker)
        and trusts(job, worker)
        and can_render(worker, device)
        and meets(worker, control.needs, device)
        and _comes(state, job, worker)
    ]
    limits = [limit for limit in (control.workers, state.limits.get(job.owner)) if limit is not None]
    return able[: min(limits)] if limits else able


def _comes(state: State, job: Job, worker: Worker) -> bool:
    """Whether a worker is at nothing, at this job, or at the end of one that has nothing more for it."""
    attempt = state.attempts.get(worker.attempt or "")
    if attempt is None:
        return worker.attempt is None
    other = state.jobs.get(attempt.key.job_id)
    if other is None or other is job:
        return True
    return other.plan is not None and other.opened >= other.plan.count


def _free(state: State, workers: Sequence[Worker], now: float) -> list[tuple[Worker, float]]:
    """Each with the seconds until it is free."""
    found = []
    for worker in workers:
        attempt = state.attempts.get(worker.attempt or "")
        at = None if attempt is None else state.jobs.get(attempt.key.job_id)
        left = 0.0
        if attempt is not None and at is not None:
            left = seconds_left(state, at, attempt, now) or 0.0
        found.append((worker, left))
    return found


def _ends_with_the_others(job: Job, left: int, hands: Sequence[Hand]) -> bool:
    """Whether frames begun whole now end before all that is left could, evenly shared."""
    whole = job.costs.whole
    first = min(each.free + whole / each.speed for each in hands)
    quick = sum(each.speed for each in hands)
    even = (sum(each.free * each.speed for each in hands) + left * whole) / quick
    return first <= even * _EVEN


def of_one_class(job: Job, workers: Sequence[Worker]) -> list[Worker]:
    """Those that may share a frame: of the class that has the most to give."""
    classes: dict[RenderClass, list[Worker]] = {}
    for worker in workers:
        of = class_on(worker, job.settings.device)
        if of is not None:
            classes.setdefault(of, []).append(worker)
    if not classes:
        return []
    return max(classes.values(), key=lambda them: sum(worker.speed for worker in them))


def ways_for(job: Job, workers: int) -> list[Way]:
    """The ways in which a frame of the job may be cut for so many workers, all proved exact."""
    if workers > _EXACTLY:  # else each number of workers has its own, and each looks at every tile
        workers = max(number for number in TRIED if number <= workers)
    if workers not in job.ways:
        assert job.plan is not None  # noqa: S101  of the callers
        assert job.report is not None  # noqa: S101  of the callers
        job.ways[workers] = ways_of(job.settings, job.report, job.plan.area, workers, exact=True)
    return job.ways[workers]
