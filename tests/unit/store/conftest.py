from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from farm.store import Database
from tests.postgres import postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of each kind that a farm can have."""
    if request.param == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'farm.sqlite3'}")
    else:
        database = Database(request.getfixturevalue("postgres")())
    yield database
    database.close()


__all__ = ["postgres"]
