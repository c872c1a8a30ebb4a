"""What attempts cost, also those that came to nothing: their worker was at work all the same."""

from __future__ import annotations

from farm.dispatch.state import Attempt, Job, State
from farm.planning.learned import Learned

_HOUR = 3600.0


def pay(state: State, attempt: Attempt, now: float) -> None:
    """An attempt has ended, however it did; one that was given up for lost may do so twice."""
    job = state.jobs[attempt.key.job_id]
    worker = state.workers.get(attempt.worker_id)
    seconds = max(0.0, now - max(attempt.started, attempt.paid))
    attempt.paid = now
    learned = learned_of(job)
    learned.spent += seconds
    if worker is not None:
        learned.paid += seconds * worker.info.price / _HOUR


def learned_of(job: Job) -> Learned:
    """What is learned of the job's costs from now on."""
    if job.learned is None:
        job.learned = Learned(job.costs)
    return job.learned
