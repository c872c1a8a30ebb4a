from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from farm.store import Database
from tests.postgres import postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database of each kind that a farm can have is to be."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'farm.sqlite3'}"
    return str(request.getfixturevalue("postgres")())


@pytest.fixture
def store(empty: str) -> Iterator[Database]:
    """An open database of each kind."""
    database = Database(empty)
    yield database
    database.close()


__all__ = ["postgres"]
