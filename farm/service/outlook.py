"""How long jobs still take and what they cost, from what was measured of their own frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from farm.domain.costs import Span
from farm.domain.states import AttemptState, JobState
from farm.domain.task import TaskKind
from farm.domain.views import FrameCounts
from farm.planning.estimate import time_left, whole_price
from farm.store import Connection, work, workers
from farm.store.jobs import JobRow
from farm.store.work import AttemptRow

type Outlook = tuple[Span | None, Span | None]  # seconds left, price of the whole job


def of(
    connection: Connection, rows: Sequence[JobRow], counts: Mapping[str, FrameCounts]
) -> dict[str, Outlook]:
    """By job, at a fixed number of queries. No time where nobody works on a job, or nothing was measured."""
    going = [job for job in rows if job.state is JobState.RENDERING and job.plan is not None]
    at_work = _at_work(connection) if going else {}
    done = work.pieces_done(connection, [job.id for job in going])
    found: dict[str, Outlook] = {}
    for job in rows:
        if job.plan is None:
            found[job.id] = (None, None)
            continue
        here = at_work.get(job.id, [])
        frames = 0.0
        left = None
        if job.state is JobState.RENDERING:
            begun = sum(_begun(attempt, job.plan.pieces_per_frame) for attempt, _ in here)
            begun += done.get(job.id, 0) / max(1, job.plan.pieces_per_frame)
            running = counts[job.id].running
            frames = counts[job.id].waiting + max(0.0, running - begun)
            left = time_left(job.costs, job.plan, frames, len(here))
        found[job.id] = (left, whole_price(job.costs, job.plan, frames, [price for _, price in here]))
    return found


def _at_work(connection: Connection) -> dict[str, list[tuple[AttemptRow, float]]]:
    """Running attempts with their worker's price an hour, by job."""
    busy = {row.attempt_id: row.info.price for row in workers.listed(connection) if row.attempt_id}
    found: dict[str, list[tuple[AttemptRow, float]]] = {}
    for attempt in work.attempts_by_id(connection, busy):
        if attempt.state is AttemptState.RUNNING:
            found.setdefault(attempt.task.job_id, []).append((attempt, busy[attempt.id]))
    return found


def _begun(attempt: AttemptRow, pieces: int) -> float:
    """How much of a frame an attempt has counted so far, as a share of the frame."""
    counted = attempt.progress
    if counted is None or not counted.samples:
        return 0.0
    share = min(1.0, counted.sample / counted.samples)
    match attempt.task.kind:
        case TaskKind.FRAME | TaskKind.VERIFY if not attempt.task.race:
            return share
        case TaskKind.TILE:
            return share / max(1, pieces)
        case _:
            return 0.0
