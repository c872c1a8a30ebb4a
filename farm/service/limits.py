"""How many workers a user's jobs may have at once, all together."""

from __future__ import annotations

from farm.domain.errors import NotFound
from farm.domain.job import Principal
from farm.domain.views import LimitRequest, UserView
from farm.service.context import Farm
from farm.store import users


def listed(farm: Farm, who: Principal) -> list[UserView]:
    """All users with their limits, by id."""
    del who
    with farm.store.read() as connection:
        return users.listed(connection)


def put(farm: Farm, who: Principal, user_id: str, asked: LimitRequest) -> UserView:
    """Limit a user, or end the limit; the dispatcher heeds it within seconds. Raises `NotFound`."""
    del who
    with farm.store.write() as connection:
        there = "\0" not in user_id and users.limit(connection, user_id, asked.workers)
        if not there:
            raise NotFound(
                f"There is no user {user_id} on this farm.", "“farm limits” lists the users there are."
            )
        return next(user for user in users.listed(connection) if user.id == user_id)
