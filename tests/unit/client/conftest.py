from collections.abc import Iterator

import pytest

from farm.client.client import FarmClient
from farm.client.testing import FakeFarm, served


@pytest.fixture
def farm() -> FakeFarm:
    return FakeFarm()


@pytest.fixture
def client(farm: FakeFarm) -> Iterator[FarmClient]:
    with served(farm) as url, FarmClient(url, sleep=lambda _: None) as client:
        yield client
