"""How many workers a user's jobs may have at once."""

from __future__ import annotations

from fastapi import APIRouter

from farm.domain.views import LimitRequest, UserView
from web.needs import Farm, Who
from web.problems import documented

router = APIRouter(prefix="/limits", tags=["farm"], responses=documented(503))


@router.get("", summary="Users and their limits")
def list_limits(farm: Farm, who: Who) -> list[UserView]:
    """``workers`` is null where a user's jobs may have as many workers as there are."""
    return farm.limits(who)


@router.put("/{user_id}", summary="Limit a user's workers", responses=documented(404, 422))
def set_limit(user_id: str, asked: LimitRequest, farm: Farm, who: Who) -> UserView:
    """All jobs of the user together have so many at once, at most; what runs beyond it goes on to its end."""
    return farm.limit(who, user_id, asked)
