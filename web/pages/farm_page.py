"""``/farm``: workers and the farm's own parts."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from farm.domain.errors import NotFound
from farm.domain.job import Principal
from farm.domain.views import FarmView
from web.html import html
from web.needs import Farm, Who
from web.pages.base import shared
from web.services import Services

router = APIRouter()


@router.get("/farm")
def farm_page(farm: Farm, who: Who) -> HTMLResponse:
    context = shared(farm, who, "farm")
    return html("farm.html", **context, names=_names(farm, who, context["pulse"]))


def _names(farm: Services, who: Principal, pulse: FarmView) -> dict[str, str]:
    """Names of the jobs that workers are at, by id."""
    names: dict[str, str] = {}
    for job_id in {worker.job_id for worker in pulse.workers if worker.job_id}:
        try:
            names[job_id] = farm.job(who, job_id).name
        except NotFound:  # somebody else's
            names[job_id] = job_id
    return names
