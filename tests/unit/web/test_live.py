"""Live events: order, resume, one poller for all, and an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from farm.domain.errors import Unavailable
from farm.domain.events import EventKind
from farm.domain.views import EventView
from tests.unit.web.fake_farm import FakeFarm
from web import live as live_module
from web.live import Live

SOON = 0.01  # seconds between two looks


def tell(farm: FakeFarm, count: int, job_id: str = "a") -> None:
    for number in range(count):
        farm.event(EventKind.FRAME_STATE, job_id, frame=number)


async def take(batches: AsyncGenerator[list[EventView]], count: int) -> list[int]:
    """Sequence numbers of the next ``count`` events."""
    found: list[int] = []
    async with asyncio.timeout(10):
        while len(found) < count:
            found += [event.sequence for event in await anext(batches)]
    return found


async def test_what_happens_later_comes_in_order(farm: FakeFarm) -> None:
    tell(farm, 3)
    async with aclosing(Live(farm, every=SOON).listen(None, None)) as batches:
        first = asyncio.ensure_future(take(batches, 2))
        while not farm.reads:
            await asyncio.sleep(SOON)
        tell(farm, 2)
        assert await first == [4, 5]


async def test_a_listener_resumes_after_the_last_it_saw(farm: FakeFarm) -> None:
    tell(farm, 5)
    async with aclosing(Live(farm, every=SOON).listen(2, None)) as batches:
        assert await take(batches, 3) == [3, 4, 5]
        tell(farm, 1)
        assert await take(batches, 1) == [6]


async def test_a_listener_far_behind_gets_every_page_once(
    farm: FakeFarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "PAGE", 10)
    tell(farm, 95)
    async with aclosing(Live(farm, every=SOON).listen(0, None)) as batches:
        assert await take(batches, 95) == list(range(1, 96))
        tell(farm, 25)
        assert await take(batches, 25) == list(range(96, 121))


async def test_a_listener_slower_than_the_events_kept_misses_none(farm: FakeFarm) -> None:
    async with aclosing(Live(farm, every=SOON, kept=4).listen(0, None)) as batches:
        tell(farm, 1)
        assert await take(batches, 1) == [1]
        tell(farm, 50)
        await asyncio.sleep(20 * SOON)  # the poller goes on; only the last four are kept
        assert await take(batches, 50) == list(range(2, 52))


async def test_only_the_jobs_own_events_come_where_one_is_asked_for(farm: FakeFarm) -> None:
    for name in ("a", "b"):
        farm.add(name, name)  # events 1 and 2
    async with aclosing(Live(farm, every=SOON).listen(0, "b")) as batches:
        assert await take(batches, 1) == [2]
        tell(farm, 2, "a")
        tell(farm, 1, "b")
        assert await take(batches, 1) == [5]


async def test_one_poller_reads_for_all_and_stops_with_the_last(farm: FakeFarm) -> None:
    live = Live(farm, every=SOON)
    assert not live.polling
    listeners = [live.listen(None, None) for _ in range(20)]
    waiting = [asyncio.ensure_future(take(batches, 1)) for batches in listeners]
    while live.listeners < 20 or not farm.reads:
        await asyncio.sleep(SOON)
    farm.reads = 0
    await asyncio.sleep(10 * SOON)
    assert farm.reads <= 11  # of one poller, not of twenty
    tell(farm, 1)
    assert await asyncio.gather(*waiting) == [[1]] * 20
    for batches in listeners:
        await batches.aclose()
    assert not live.polling
    await asyncio.sleep(2 * SOON)
    farm.reads = 0
    await asyncio.sleep(5 * SOON)
    assert farm.reads == 0


async def test_closing_ends_all_listening_at_once(farm: FakeFarm) -> None:
    live = Live(farm, every=SOON)
    ends = [asyncio.ensure_future(take(live.listen(None, None), 1)) for _ in range(3)]
    while live.listeners < 3:
        await asyncio.sleep(SOON)
    await asyncio.to_thread(live.close)
    for end in ends:
        with pytest.raises(StopAsyncIteration):
            await end


async def test_a_table_that_cannot_be_read_ends_the_streams_and_a_new_one_works(
    farm: FakeFarm, caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(farm, every=SOON)
    end = asyncio.ensure_future(take(live.listen(0, None), 1))
    while not farm.reads:
        await asyncio.sleep(SOON)
    farm.trouble = Unavailable("The database does not answer.")
    with pytest.raises((StopAsyncIteration, Unavailable)):
        await end
    farm.trouble = None
    tell(farm, 1)
    async with aclosing(live.listen(0, None)) as batches:
        assert await take(batches, 1) == [1]
    assert "The database does not answer." in caplog.text


async def test_a_long_poll_answers_with_the_first_event_or_empty(farm: FakeFarm) -> None:
    live = Live(farm, every=SOON)
    assert await live.wait(0, None, 0) == []
    assert await live.wait(0, None, 3 * SOON) == []
    waiting = asyncio.ensure_future(live.wait(0, None, 20))
    while not live.polling:
        await asyncio.sleep(SOON)
    tell(farm, 1)
    async with asyncio.timeout(10):
        assert [event.sequence for event in await waiting] == [1]
    assert not live.polling
