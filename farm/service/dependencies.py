"""Jobs that wait for others: whether those are there, and that none of them waits for the first."""

from __future__ import annotations

from itertools import pairwise

from farm.domain.control import Control
from farm.domain.errors import BadInput
from farm.domain.states import JobState
from farm.service.wishes import Asked
from farm.store import Connection, jobs


def check(connection: Connection, control: Control, asked: Asked, job_id: str | None = None) -> None:
    """Raise `BadInput` where ``control.after`` names a job that is not here, or that waits for ``job_id``.

    ``job_id`` is None for a job that is not here yet: nothing can wait for that.
    """
    for name in control.after:
        if jobs.get(connection, name) is None:
            raise BadInput(
                f"There is no job {name} on this farm to wait for.", "“farm jobs” lists the jobs there are."
            )
    if job_id is None:
        return
    chain = _chain(connection, control.after, asked, job_id)
    if chain is not None:
        raise BadInput(_told(job_id, chain), f"Leave out --after {chain[0]}, or change what that waits for.")


def _chain(
    connection: Connection, after: tuple[str, ...], asked: Asked, job_id: str
) -> tuple[str, ...] | None:
    """The way from one of ``after`` to ``job_id`` by what each waits for; None where there is none."""
    seen: set[str] = set()
    ways: list[tuple[str, ...]] = [(name,) for name in after]
    while ways:
        way = ways.pop(0)
        if way[-1] == job_id:
            return way
        if way[-1] in seen:
            continue
        seen.add(way[-1])
        job = jobs.get(connection, way[-1])
        if job is not None and job.state is not JobState.DONE:  # all but the done ones may go on one day
            ways += [(*way, name) for name in asked.control(job).after]
    return None


def _told(job_id: str, chain: tuple[str, ...]) -> str:
    if chain == (job_id,):
        return f"Job {job_id} cannot wait for itself."
    return (
        f"Job {job_id} cannot wait for job {chain[0]}: "
        + ", and ".join(f"{one} waits for {other}" for one, other in pairwise(chain))
        + "."
    )
