"""What the owner of this machine says of its workers: read on the machine itself, never told by the head."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

from pydantic import ValidationError

from farm.domain.control import TAG
from farm.domain.errors import UsageError
from farm.settings import MachineSettings, farm_home
from workers.hours import Hours
from workers.lending import ALWAYS, Lending, seconds


@dataclass(frozen=True, slots=True)
class Machine:
    """Each worker of the machine has these tags, this price an hour, and is lent like this."""

    tags: tuple[str, ...] = ()
    price: float = 0.0
    lending: Lending = ALWAYS


def this_machine() -> Machine:
    """As the environment and ``config.toml`` of this process's own machine say.

    Raises `UsageError` with the setting, what is wrong with it, and what it should be.
    """
    try:
        settings = MachineSettings()
    except ValidationError as error:
        first = error.errors()[0]
        name = f"FARM_{'_'.join(map(str, first['loc'])).upper()}"
        raise UsageError(
            f"{name} is “{first['input']}”: {first['msg'][:1].lower()}{first['msg'][1:]}.",
            f"Correct it in this machine's environment, or in {farm_home() / 'config.toml'}.",
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"{farm_home() / 'config.toml'} cannot be read: {error}.", "Correct the file."
        ) from error
    return Machine(
        tags=_tags(settings.worker_tags),
        price=settings.worker_price,
        lending=Lending(
            hours=Hours.parse(settings.lend_hours) if settings.lend_hours.strip() else None,
            idle=seconds(settings.lend_idle, "FARM_LEND_IDLE") if settings.lend_idle.strip() else None,
            busy=settings.lend_busy,
            finish=settings.lend_finish,
        ),
    )


def _tags(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        if not re.fullmatch(TAG, word):
            raise UsageError(
                f"FARM_WORKER_TAGS has “{word}”, which is not a tag.",
                "Tags are short words of a-z, 0-9, dot, dash and underscore: FARM_WORKER_TAGS=rtx,studio-b.",
            )
    return tuple(sorted(set(words)))
