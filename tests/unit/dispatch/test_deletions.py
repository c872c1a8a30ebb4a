"""What is to be deleted is, also when storage is away for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from farm.dispatch import deletions as deletions_module
from farm.dispatch.deletions import Deletions
from farm.storage import MemoryStorage


class Counted(MemoryStorage):
    def __init__(self) -> None:
        super().__init__()
        self.tries: list[list[str]] = []

    def delete(self, keys: Iterable[str]) -> None:
        wanted = list(keys)
        self.tries.append(wanted)
        super().delete(wanted)


async def test_keys_that_storage_does_not_take_are_tried_again_with_those_that_came_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deletions_module, "_SHORTEST", 0.05)
    storage = Counted()
    storage.away = True
    deletions = Deletions(storage)
    running = asyncio.create_task(deletions.run())
    try:
        deletions.add(["a", "b"])
        async with asyncio.timeout(10):
            while len(storage.tries) < 2:
                await asyncio.sleep(0.01)
        deletions.add(["c"])
        storage.away = False
        async with asyncio.timeout(10):
            while "c" not in storage.tries[-1]:
                await asyncio.sleep(0.01)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert storage.tries[0] == ["a", "b"]
    assert storage.tries[-1] == ["a", "b", "c"]


async def test_storage_that_is_away_for_ever_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deletions_module, "_KEPT", 3)
    storage = Counted()
    deletions = Deletions(storage)
    deletions.add(["a", "b"])
    deletions.add(["c", "d"])
    running = asyncio.create_task(deletions.run())
    async with asyncio.timeout(10):
        while not storage.tries:
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert storage.tries == [["a", "b", "c"]]
