"""What a running farm says about itself, in ``run/state.json``."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from farm.embedded.identity import Identity

_SETTLED = 30.0  # seconds of life after which a part that ended before counts as well again


class Phase(StrEnum):
    """Of the farm as a whole, and of each of its parts."""

    WAITING = "waiting"  # for the parts that it needs
    STARTING = "starting"
    READY = "ready"
    FAILING = "failing"  # ended by itself; started again after a pause
    FAILED = "failed"  # given up
    STOPPING = "stopping"
    STOPPED = "stopped"


class Part(BaseModel):
    """One of the farm's processes. `last` holds the ends of its log after it ended by itself."""

    model_config = ConfigDict(frozen=True)

    name: str
    phase: Phase = Phase.WAITING
    pid: int | None = None
    restarts: int = 0
    since: float = 0.0  # seconds since the epoch
    log: str = ""
    last: tuple[str, ...] = ()

    def ails(self, now: float) -> bool:
        """Whether it keeps ending by itself. ``now`` is in seconds since the epoch.

        The dispatcher counts as ready at once, so one that has just come back for the second time ails.
        """
        if self.phase in (Phase.FAILING, Phase.FAILED):
            return True
        if self.phase is Phase.STARTING:
            return self.restarts > 0
        return self.phase is Phase.READY and self.restarts > 1 and now - self.since < _SETTLED


class FarmState(BaseModel):
    """Written by the supervisor at every change."""

    model_config = ConfigDict(frozen=True)

    phase: Phase
    url: str
    supervisor: Identity
    started: float  # seconds since the epoch
    parts: tuple[Part, ...] = ()
    ports: dict[str, int] = {}
    sockets: tuple[str, ...] = ()  # outside of the farm's own folders, for the guardian to remove
    what: str = ""  # why the farm could not start
    cure: str = ""

    def write(self, path: Path) -> None:
        """Replace the file at once, readable by its owner alone."""
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(self.model_dump_json(indent=1))
        partial.replace(path)


def read(path: Path) -> FarmState | None:
    """The state in the file; None where there is none that can be read."""
    try:
        return FarmState.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
