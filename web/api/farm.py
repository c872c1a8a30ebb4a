"""The farm itself."""

from __future__ import annotations

from fastapi import APIRouter

from farm.domain.views import FarmView
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(tags=["farm"], responses=documented(503))


@router.get("/farm", summary="The farm's pulse")
def pulse(farm: Farm, who: Who) -> FarmView:
    """Workers and what they do, jobs that render and wait, and whether each part of the farm answers."""
    return farm.pulse(who)
