"""The farm's pulse."""

from __future__ import annotations

from dataclasses import asdict

from farm import __version__
from farm.domain.job import Principal
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.views import FailedWorker, FarmView, WorkerView
from farm.service.context import Farm
from farm.service.describe import describe_attempt
from farm.store import aside, head, jobs, work, workers
from farm.store.aside import AsideRow
from farm.store.workers import WorkerRow

#: The dispatcher beats every second (`farm.dispatch.headship`); after so many without one it counts as away.
DISPATCHER_AWAY_SECONDS = 10.0


def pulse(farm: Farm, who: Principal) -> FarmView:
    """Who works on what, and whether the parts of the farm answer."""
    del who
    with farm.store.read() as connection:
        rows = workers.listed(connection)
        failed = workers.list_failed(connection)
        attempts = {
            a.id: a for a in work.attempts_by_id(connection, [r.attempt_id for r in rows if r.attempt_id])
        }
        beat = head.last_beat(connection)
        apart = aside.listed(connection)
        active = jobs.ids_in_states(connection, [state for state in JobState if state not in JOB_ENDED])
    alive = beat is not None and farm.now() - beat < DISPATCHER_AWAY_SECONDS
    views = []
    for row in rows:
        attempt = attempts.get(row.attempt_id or "")
        state, why = _standing(row, [one for one in apart if one.worker_id == row.info.worker_id])
        views.append(
            WorkerView(
                info=row.info,
                state=state if alive else "lost",
                why=why if alive else "",
                attempt=describe_attempt(attempt) if attempt else None,
                job_id=attempt.task.job_id if attempt else None,
            )
        )
    busy = {view.job_id for view in views if view.job_id}
    return FarmView(
        version=__version__,
        workers=tuple(views),
        failed=tuple(FailedWorker.model_validate(asdict(row)) for row in failed if alive),
        rendering=len(busy),
        waiting=len(set(active) - busy),
        dispatcher="alive" if alive else "away",
        storage="ok" if farm.health.storage_answers() else "away",
    )


def _standing(row: WorkerRow, apart: list[AsideRow]) -> tuple[str, str]:
    """A worker's state in a word, and why it takes no work now, or none of some job."""
    everywhere = [one.why for one in apart if one.job_id is None]
    if row.info.away:
        return "away" if row.state == "idle" else row.state, row.info.away
    if everywhere:
        return "aside" if row.state == "idle" else row.state, everywhere[0]
    return row.state, " ".join(f"It is given nothing of job {one.job_id}: {one.why}" for one in apart)
