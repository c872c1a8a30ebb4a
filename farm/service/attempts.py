"""Attempts of a job: who tried what, and how it ended."""

from __future__ import annotations

from farm.domain.job import Principal
from farm.domain.states import AttemptState
from farm.domain.views import AttemptView
from farm.service.context import Farm
from farm.service.describe import describe_attempt, found
from farm.store import outputs, work

_MOST = 1000


def listed(farm: Farm, who: Principal, job_id: str, failed: bool) -> list[AttemptView]:
    """Attempts, newest first (`_MOST` at most); ``failed`` keeps those that failed or were lost."""
    del who
    states = [AttemptState.FAILED, AttemptState.LOST] if failed else None
    with farm.store.read() as connection:
        found(connection, job_id)
        rows = work.attempts_of_job(connection, job_id, states, _MOST)
        logs = outputs.logs(connection, [row.id for row in rows])
        return [describe_attempt(row, logs.get(row.id)) for row in rows]
