"""The event table, as the page, the CLI and the add-on follow it."""

from __future__ import annotations

from farm.domain.job import Principal
from farm.domain.views import EventView
from farm.service.context import Farm
from farm.service.describe import found
from farm.store import events


def after(farm: Farm, who: Principal, sequence: int, job_id: str | None, limit: int = 500) -> list[EventView]:
    """Events with a higher number, oldest first; of one job, or of all. Raises `NotFound`."""
    del who
    with farm.store.read() as connection:
        if job_id is not None:
            found(connection, job_id)
        return events.after(connection, sequence, job_id, limit)


def latest(farm: Farm) -> int:
    """The highest number so far."""
    with farm.store.read() as connection:
        return events.latest(connection)
