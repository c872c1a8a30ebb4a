"""How long what runs will run on: by what was counted of it, else by what such tasks cost."""

from __future__ import annotations

from farm.dispatch.state import Attempt, Job, State, Worker
from farm.domain.costs import Costs
from farm.domain.task import TaskKey, TaskKind
from farm.planning.model import Hand, finish_seconds, share_of

#: Of a render's samples, and of its seconds: before so much is done its pace tells nothing.
_TELLING_SHARE = 0.03
_TELLING_SECONDS = 0.5


def hand(job: Job, worker: Worker, free: float = 0.0) -> Hand:
    """A worker as the model sees it."""
    return Hand(free, worker.speed, worker.scene_id == job.scene_id)


def seconds_left(state: State, job: Job, attempt: Attempt, now: float) -> float | None:
    """Seconds until an attempt will have ended, on its worker; None where nothing tells.

    One that is overdue, or stands still, is expected to take as long again as it has done so.
    """
    elapsed = max(0.0, now - attempt.started)
    began = attempt.rendering
    if began is None:
        began = attempt.started + _before_render(state, job, attempt)
    pace = _pace(job, attempt, began)
    if pace is not None:
        took, share = pace
        counted, since = took * (1 - share) / share, max(0.0, now - attempt.moved)
        return counted - since if counted > since else since
    if not job.costs.seen:
        return None
    expected = began - attempt.started + _rest(state, job, attempt)
    return expected - elapsed if expected > elapsed else elapsed - expected


def costs_from(state: State, job: Job, attempt: Attempt) -> Costs | None:
    """What the job's frames cost: as was measured, else as the attempt itself tells by how far it is."""
    if job.costs.seen:
        return job.costs
    pace = None if attempt.rendering is None else _pace(job, attempt, attempt.rendering)
    if pace is None or attempt.rendering is None:
        return None
    took, share = pace
    worker = state.workers.get(attempt.worker_id)
    speed = worker.speed if worker else 1.0
    whole = took / share / share_of_task(job, attempt.key)
    load = 0.0 if job.report is None else job.report.load_seconds
    before = max(0.0, (attempt.rendering - attempt.started) * speed - load)
    return Costs(seen=share, load=load, sync=before, render=whole * speed)


def _pace(job: Job, attempt: Attempt, began: float) -> tuple[float, float] | None:
    """Seconds that it renders, and the share of its samples that it has: of one layer and view only."""
    if job.report is None or len(job.report.layers) > 1 or len(job.report.views) > 1:
        return None
    progress = attempt.progress
    if progress is None or progress.phase != "rendering" or progress.samples < 1:
        return None
    share, took = progress.sample / progress.samples, attempt.moved - began
    return None if share < _TELLING_SHARE or took < _TELLING_SECONDS else (took, share)


def _before_render(state: State, job: Job, attempt: Attempt) -> float:
    """Seconds before the first sample, as its worker needs them."""
    if attempt.key.kind not in (TaskKind.FRAME, TaskKind.TILE):
        return 0.0
    worker = state.workers.get(attempt.worker_id)
    at = {} if job.learned is None else job.learned.at
    seconds = 0.0
    if attempt.worker_id not in at:
        seconds = job.costs.load + job.costs.sync
    elif at[attempt.worker_id] != attempt.key.frame:
        seconds = job.costs.sync
    return seconds / (worker.speed if worker else 1.0)


def _rest(state: State, job: Job, attempt: Attempt) -> float:
    """Seconds of an attempt from its first sample on, as its worker needs them."""
    worker = state.workers.get(attempt.worker_id)
    speed = worker.speed if worker else 1.0
    if attempt.key.kind is TaskKind.FINISH:
        return finish_seconds(job.costs) / speed
    return (job.costs.render * share_of_task(job, attempt.key) + job.costs.rest) / speed


def share_of_task(job: Job, key: TaskKey) -> float:
    """What a task renders of the pixels and samples of its frame."""
    if key.tile is None or key.frame is None:
        return 1.0
    return share_of(job.plan_of(job.frames[key.frame]), key.tile)
