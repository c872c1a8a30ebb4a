"""What the verbs work with."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from farm.domain.job import LOCAL_OWNER
from farm.service.health import Health
from farm.settings import Settings
from farm.storage import Storage, open_storage
from farm.store import jobs
from farm.store.database import Database


@dataclass(frozen=True, slots=True)
class Farm:
    """An open farm: its database, its storage, its settings."""

    store: Database
    storage: Storage
    settings: Settings
    health: Health = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "health", Health(self.storage))

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def close(self) -> None:
        """Give the database's connections back."""
        self.store.close()


def open_farm(settings: Settings) -> Farm:
    """Open database and storage; raises `Unavailable` where the database does not answer."""
    farm = Farm(Database(settings.database), open_storage(settings.storage), settings)
    with farm.store.write() as connection:
        jobs.add_user(connection, LOCAL_OWNER, farm.now())
    return farm
