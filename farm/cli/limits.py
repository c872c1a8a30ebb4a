"""`farm limits`: how many workers a user's jobs may have."""

from __future__ import annotations

from typing import Annotated

import typer

from farm.cli.connect import reached
from farm.cli.options import AsJson, FarmUrl
from farm.cli.speaker import Speaker, clean
from farm.cli.when import workers_at_most
from farm.cli.words import number
from farm.domain.errors import NotFound
from farm.domain.views import UserView

User = Annotated[str | None, typer.Argument(metavar="USER", help="A user, as `farm limits` lists them.")]
Workers = Annotated[
    str | None, typer.Argument(metavar="N|none", help="Workers at once, at most; none: all there are.")
]


def limits(user: User = None, workers: Workers = None, as_json: AsJson = False, farm: FarmUrl = None) -> None:
    """List how many workers each user may have at once, or change it for one.

    The limit is of all jobs of a user together. What is being rendered beyond it is not interrupted.

    \b
    Examples:
      farm limits
      farm limits local 4
      farm limits local none

    With --json: users, a list of id, name and workers (null: as many as there are).
    """
    speaker = Speaker(as_json)
    wanted = None if workers is None else workers_at_most(workers)
    with reached(farm) as client:
        if user is None or workers is None:
            found = [one for one in client.limits() if user in (None, one.id)]
        else:
            found = [client.limit(user, wanted or None)]
    if user is not None and not found:
        raise NotFound(f"There is no user {user} on this farm.", "“farm limits” lists the users there are.")
    if as_json:
        speaker.give({"users": [one.model_dump(mode="json") for one in found]})
    for one in found:
        speaker.say(f"{clean(one.id)}  {_told(one)}")


def _told(user: UserView) -> str:
    if user.workers is None:
        return "as many workers as there are"
    return f"{number(user.workers, 'worker')} at once, at most"
