from __future__ import annotations

import asyncio

import pytest

from farm.domain.errors import StorageFull, Unavailable
from workers import patiently as waiting
from workers.patiently import patiently, together


async def test_what_is_away_is_tried_again_until_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_WAITS", (0.0,))
    answers = iter([Unavailable("away"), Unavailable("away"), "here"])

    def call() -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert await patiently(call) == "here"


async def test_who_waits_hears_when_storage_goes_and_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_WAITS", (0.0,))
    answers = iter([Unavailable("away"), Unavailable("away"), None])
    heard: list[bool] = []

    def call() -> None:
        if answer := next(answers):
            raise answer

    await patiently(call, heard.append)
    assert heard == [True, False]
    await patiently(lambda: None, heard.append)
    assert heard == [True, False]


async def test_each_caller_says_how_long_it_waits() -> None:
    def away() -> None:
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        await patiently(away, most=0.1)


async def test_a_wait_that_is_cancelled_ends_at_once() -> None:
    def away() -> None:
        raise Unavailable("away")

    task = asyncio.create_task(patiently(away))
    await asyncio.sleep(0.1)
    task.cancel()
    async with asyncio.timeout(1):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_stays_away_is_given_up_and_what_else_fails_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    for error in (Unavailable("away"), StorageFull("full")):

        def call(error: Exception = error) -> None:
            raise error

        with pytest.raises(type(error)):
            await patiently(call)


async def test_results_come_in_order() -> None:
    async def after(turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    assert await together(map(after, [3, 1, 2])) == [3, 1, 2]
    assert await together([]) == []


async def test_the_first_failure_ends_the_others_and_is_raised_as_it_is() -> None:
    ended: list[str] = []

    async def long() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append("long")

    async def full() -> None:
        await asyncio.sleep(0)
        raise StorageFull("no room")

    with pytest.raises(StorageFull, match="no room"):
        await together([long(), full()])
    assert ended == ["long"]
