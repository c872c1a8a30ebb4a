"""What runs on for long while workers are idle: it is cut in the middle of it, or raced.

Only workers help that nothing else could be begun for. What was begun goes on: whichever way to the
frame is complete first counts, and the others are given up (`farm.dispatch.covering`). So a wrong guess
costs time of workers that were idle, and never a frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from farm.dispatch import instructions as do
from farm.dispatch.covering import cover_of
from farm.dispatch.desk import Desk
from farm.dispatch.fitness import serves, trusts
from farm.dispatch.policy import class_on, may_take
from farm.dispatch.remaining import costs_from, hand, seconds_left, share_of_task
from farm.dispatch.state import Attempt, Frame, Job, State, Task, Worker
from farm.dispatch.tail import of_one_class, sizes_itself, ways_for
from farm.domain.costs import Costs
from farm.domain.plan import Recut
from farm.domain.states import JobState
from farm.domain.task import TaskKey, TaskKind
from farm.planning.area import TRIED, recut_of
from farm.planning.cutting import about
from farm.planning.model import Way, makespan

#: Seconds between two looks; what is found out in one is little.
EVERY = 1.0
#: Another way has to be quicker by this share, and by so many seconds: both are guesses.
_CLEARLY = 1.3
_AT_LEAST = 2.0
#: A piece of a piece of a frame, or of its piece, is not cut again.
_DEEPEST = 2
#: So many pieces are made for each idle worker, as others will be idle soon, and no piece is like another …
_FINER = 4
#: … where that is about as quick.
_AS_QUICK = 1.08
#: Who idles helps what takes long by its share of what is left, with so many workers at least.
_LEAST_HELPERS = 2
#: Of what takes longest, so much is looked at each time.
_LOOKED_AT = 8


@dataclass(frozen=True, slots=True)
class _Help:
    """Another way to what an attempt makes. No recut: the whole frame, raced."""

    attempt: Attempt
    left: float  # seconds of the attempt
    seconds: float  # of the other way
    helpers: tuple[Worker, ...]
    recut: Recut | None = None


def help_out(desk: Desk, now: float) -> bool:
    """Open tasks for idle workers beside what takes long; True where there are any.

    To be called when nothing more can be begun.
    """
    state = desk.state
    idle = [worker for worker in state.workers.values() if worker.attempt is None and serves(worker)]
    slow = sorted(_slow(state, now), key=lambda each: each[0], reverse=True)[:_LOOKED_AT]
    helped = False
    rest = sum(left for left, _ in slow)
    for left, attempt in slow:
        job = state.jobs[attempt.key.job_id]
        frame = job.frames[attempt.key.frame or 0]
        helpers = idle[: max(_LEAST_HELPERS, round(len(idle) * left / rest))]
        rest -= left
        best = _best(desk, job, frame, attempt, left, helpers) if idle else None
        if best is not None:
            _begin(desk, best)
            helped = True
            names = {worker.info.worker_id for worker in best.helpers}
            idle = [worker for worker in idle if worker.info.worker_id not in names]
    return helped


def _slow(state: State, now: float) -> Iterator[tuple[float, Attempt]]:
    """What may be helped and takes long enough to be, with the seconds that it will take."""
    for attempt in state.attempts.values():
        if attempt.key.kind not in (TaskKind.FRAME, TaskKind.TILE) or attempt.key.frame is None:
            continue
        job = state.jobs[attempt.key.job_id]
        if not _may_help(state, job, job.frames[attempt.key.frame], attempt):
            continue
        left = _sooner(state, job, attempt, now)
        if left is not None and left > _AT_LEAST:
            yield left, attempt


def _sooner(state: State, job: Job, attempt: Attempt, now: float) -> float | None:
    """Seconds until an attempt will have ended, or the race that was begun beside it."""
    left = seconds_left(state, job, attempt, now)
    frame = job.frames[attempt.key.frame or 0]
    race = job.tasks.get(replace(attempt.key, race=frame.races)) if frame.races else None
    other = None if race is None else state.attempts.get(race.attempt or "")
    if left is None or other is None:
        return left
    return min(left, seconds_left(state, job, other, now) or left)


def _best(
    desk: Desk, job: Job, frame: Frame, attempt: Attempt, left: float, idle: list[Worker]
) -> _Help | None:
    costs = costs_from(desk.state, job, attempt)
    if costs is None or costs.sync * _CLEARLY > left:
        return None
    task = job.tasks[attempt.key]
    able = _able(desk, job, frame, task, idle)
    costs = costs.model_copy(update={"render": costs.render * share_of_task(job, attempt.key)})
    raced = attempt.key.tile is None and frame.races > 0
    race = None if raced else _raced(job, attempt, costs, left, able)
    ways = (race, _cut(job, frame, attempt, costs, left, able))
    good = [way for way in ways if way and way.seconds * _CLEARLY < left and way.seconds + _AT_LEAST < left]
    return min(good, key=lambda way: way.seconds, default=None)


def _able(desk: Desk, job: Job, frame: Frame, task: Task, idle: list[Worker]) -> list[Worker]:
    """Those of the idle workers that may do a task, the readiest first; of many some."""
    without = task.failed_on | frame.foreign
    kinds = {
        id(desk.roster.kind_of(worker.info.worker_id))
        for worker in desk.roster.offering(job, without)
        if may_take(job, task, worker)
    }
    able = [
        worker
        for worker in idle
        if worker.info.worker_id not in without
        and id(desk.roster.kind_of(worker.info.worker_id)) in kinds
        and trusts(job, worker)
    ]
    able.sort(key=lambda worker: (worker.scene_id != job.scene_id, -worker.speed))
    return able[: TRIED[-1]]


def _may_help(state: State, job: Job, frame: Frame, attempt: Attempt) -> bool:
    if job.state is not JobState.RENDERING or job.control.paused or not sizes_itself(job):
        return False
    if attempt.key.race or _depth(job, frame, attempt.key) >= _DEEPEST or cover_of(job, frame) is not None:
        return False
    limits = (job.control.workers, state.limits.get(job.owner))
    return all(limit is None for limit in limits) and not _is_helped(frame, attempt.key)


def _is_helped(frame: Frame, key: TaskKey) -> bool:
    """Whether what this task makes was cut already; what is raced may be cut still, once more are idle."""
    return any(recut.of == key.tile for recut in frame.recuts)


def _depth(job: Job, frame: Frame, key: TaskKey) -> int:
    """How many revisions led to a piece."""
    if key.tile is None:
        return 0
    for numbers, recut in zip(job.plan_of(frame).parts, frame.recuts, strict=True):
        if key.tile in numbers:
            return 1 if recut.of is None else 1 + _depth(job, frame, replace(key, tile=recut.of))
    return 0


def _raced(job: Job, attempt: Attempt, costs: Costs, left: float, able: list[Worker]) -> _Help | None:
    """The same once more, on the quickest of the idle workers."""
    if not able:
        return None
    best = (able[0], max(able, key=lambda worker: worker.speed))  # the readiest, and the quickest
    timed = [(makespan(costs, 1, Way(), [hand(job, worker)]), worker) for worker in best]
    seconds, worker = min(timed, key=lambda each: each[0])
    if attempt.key.tile is None:
        return _Help(attempt, left, seconds, (worker,))
    recut = _recut(job, attempt, 1)
    return None if recut is None else _Help(attempt, left, seconds, (worker,), recut)


def _cut(
    job: Job, frame: Frame, attempt: Attempt, costs: Costs, left: float, idle: list[Worker]
) -> _Help | None:
    """The same in pieces, one for each of the idle workers that may share it."""
    able = of_one_class(job, idle)
    if frame.render_class is not None:
        able = [w for w in able if class_on(w, job.settings.device) == frame.render_class]
    if len(able) < 2:
        return None
    hands = [hand(job, worker) for worker in able]
    whole = attempt.key.tile is None
    numbers = [n for n in TRIED if n <= _FINER * len(able)]
    ways = ways_for(job, numbers[-1]) if whole else [Way(n) for n in numbers]
    timed = [(makespan(costs, 1, way, hands, finishing=whole), way.pieces) for way in ways]
    quickest = min(timed, default=(0.0, 0))[0]
    for seconds, pieces in reversed(timed):
        recut = _recut(job, attempt, pieces) if seconds <= quickest * _AS_QUICK else None
        if recut is not None:
            return _Help(attempt, left, seconds, tuple(able[:pieces]), recut)
    return None


def _recut(job: Job, attempt: Attempt, pieces: int) -> Recut | None:
    if job.plan is None or job.report is None or attempt.key.frame is None:
        return None
    plan = job.plan_of(job.frames[attempt.key.frame])
    return recut_of(attempt.key.tile, pieces, plan, job.settings, job.report)


def _begin(desk: Desk, way: _Help) -> None:
    """Open the tasks of another way, and say why."""
    key = way.attempt.key
    job = desk.state.jobs[key.job_id]
    assert key.frame is not None  # noqa: S101  of `_ways`
    frame = job.frames[key.frame]
    what = "The frame" if key.tile is None else f"Piece {key.tile + 1}"
    slow = f"{what} would take {about(way.left)} more on {way.attempt.worker_id}"
    if way.recut is None:
        frame.races += 1
        why = f"{slow}, so it is raced: about {about(way.seconds)} on {way.helpers[0].info.worker_id}."
        desk.out.append(do.FrameRecut(job.id, frame.number, frame.recuts, why))
        desk.open_task(job, TaskKey(job.id, TaskKind.FRAME, frame.number, race=frame.races))
        return
    frame.recuts += (way.recut,)
    parts = job.plan_of(frame).parts[-1]
    how = f"cut in {len(parts)}" if len(parts) > 1 else "raced"
    why = f"{slow}, so it is {how}: about {about(way.seconds)} on workers that are idle."
    desk.out.append(do.FrameRecut(job.id, frame.number, frame.recuts, why))
    for number in parts:
        desk.open_task(job, TaskKey(job.id, TaskKind.TILE, frame.number, number))
