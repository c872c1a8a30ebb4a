"""``/``: all jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from farm.domain.job import Principal
from farm.domain.states import JobState
from farm.domain.views import JobView
from web.html import html
from web.needs import Farm, Who
from web.pages.base import shared
from web.services import Services

router = APIRouter()

#: Rows of a page, and how many jobs are looked through for them.
ROWS, LOOKED = 50, 500

#: The chips and the states that they let through.
SHOWN: Mapping[str, frozenset[JobState]] = {
    "all": frozenset(JobState),
    "running": frozenset({JobState.WAITING, JobState.INSPECTING, JobState.RENDERING}),
    "done": frozenset({JobState.DONE}),
    "failed": frozenset({JobState.FAILED}),
}


@router.get("/")
def jobs_page(
    farm: Farm,
    who: Who,
    show: Annotated[str, Query(max_length=20)] = "all",
    before: Annotated[str | None, Query(max_length=40)] = None,
) -> HTMLResponse:
    chosen = show if show in SHOWN else "all"
    context = shared(farm, who, "jobs")
    jobs, older = found(farm, who, SHOWN[chosen], before)
    return html("jobs.html", **context, jobs=jobs, older=older, show=chosen, chips=list(SHOWN), before=before)


def found(
    farm: Services, who: Principal, states: frozenset[JobState], before: str | None
) -> tuple[list[JobView], str | None]:
    """Up to `ROWS` jobs in ``states``, newest first, and the job after which to look for older ones."""
    rows: list[JobView] = []
    looked = 0
    while looked < LOOKED:
        page = farm.jobs(who, ROWS + 1, before)
        looked += len(page)
        for job in page[:ROWS]:
            if len(rows) == ROWS:
                return rows, before
            before = job.id
            rows += [job] if job.state in states else []
        if len(page) <= ROWS:
            return rows, None
    return rows, before
