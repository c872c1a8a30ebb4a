"""What the routes need, as FastAPI dependencies: the farm, who asks, and the live events."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from farm.domain.job import LOCAL_OWNER, Principal
from web.live import Live
from web.services import Services


def services(request: Request) -> Services:
    return cast("Services", request.app.state.services)


def live(request: Request) -> Live:
    return cast("Live", request.app.state.live)


def principal() -> Principal:
    """Who asks. Only this machine's owner reaches the farm: the guard and the loopback address see to it."""
    return LOCAL_OWNER


Farm = Annotated[Services, Depends(services)]
Events = Annotated[Live, Depends(live)]
Who = Annotated[Principal, Depends(principal)]
