"""How long jobs still take and what they cost, from what was measured of their own frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from farm.domain.costs import Span
from farm.domain.states import AttemptState, JobState
from farm.domain.views import FrameCounts
from farm.planning.estimate import time_left, whole_price
from farm.planning.model import begun
from farm.store import Connection, frames, work, workers
from farm.store.jobs import JobRow
from farm.store.work import AttemptRow

type Outlook = tuple[Span | None, Span | None]  # seconds left, price of the whole job


def of(
    connection: Connection, rows: Sequence[JobRow], counts: Mapping[str, FrameCounts]
) -> dict[str, Outlook]:
    """By job, at a fixed number of queries. No time where nobody works on a job, or nothing was measured."""
    going = [job for job in rows if job.state is JobState.RENDERING and job.plan is not None]
    at_work = _at_work(connection) if going else {}
    there = _there(connection, going, at_work)
    found: dict[str, Outlook] = {}
    for job in rows:
        if job.plan is None:
            found[job.id] = (None, None)
            continue
        here = at_work.get(job.id, [])
        ahead = 0.0
        left = None
        if job.state is JobState.RENDERING:
            running = counts[job.id].running
            ahead = counts[job.id].waiting + max(0.0, running - there.get(job.id, 0.0))
            left = time_left(job.costs, job.plan, ahead, len(here))
        found[job.id] = (left, whole_price(job.costs, job.plan, ahead, [price for _, price in here]))
    return found


def _at_work(connection: Connection) -> dict[str, list[tuple[AttemptRow, float]]]:
    """Running attempts with their worker's price an hour, by job."""
    busy = {row.attempt_id: row.info.price for row in workers.listed(connection) if row.attempt_id}
    found: dict[str, list[tuple[AttemptRow, float]]] = {}
    for attempt in work.attempts_by_id(connection, busy):
        if attempt.state is AttemptState.RUNNING:
            found.setdefault(attempt.task.job_id, []).append((attempt, busy[attempt.id]))
    return found


def _there(
    connection: Connection, going: Sequence[JobRow], at_work: Mapping[str, list[tuple[AttemptRow, float]]]
) -> dict[str, float]:
    """How many frames' worth is there of the frames that run, by job."""
    ids = [job.id for job in going]
    recuts = frames.recuts_now(connection, ids)
    done: dict[tuple[str, int], dict[int | None, float]] = {
        at: dict.fromkeys(tiles, 1.0) for at, tiles in work.pieces_done(connection, ids).items()
    }
    for attempt in (attempt for job_id in ids for attempt, _ in at_work.get(job_id, [])):
        key, counted = attempt.task, attempt.progress
        if key.frame is not None and counted is not None and counted.samples:
            of_frame = done.setdefault((key.job_id, key.frame), {})
            share = min(1.0, counted.sample / counted.samples)
            of_frame[key.tile] = max(of_frame.get(key.tile, 0.0), share)
    plans = {job.id: job.plan for job in going}
    found: dict[str, float] = {}
    for (job_id, frame), of_frame in done.items():
        if (plan := plans[job_id]) is not None:
            share = begun(plan.recut(recuts.get((job_id, frame), ())), of_frame)
            found[job_id] = found.get(job_id, 0.0) + share
    return found
