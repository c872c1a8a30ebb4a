"""A client on the app, on a farm in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from tests.unit.web.fake_farm import FakeFarm
from web.app import create_app


@pytest.fixture
def farm() -> FakeFarm:
    return FakeFarm()


@pytest.fixture
def client(farm: FakeFarm) -> Iterator[TestClient]:
    with TestClient(create_app(farm), base_url="http://127.0.0.1:8000") as client:
        yield client
