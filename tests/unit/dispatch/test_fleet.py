"""What the fleet does about workers that answer late, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from farm.cluster import WorkerGone
from farm.dispatch import events as told
from farm.dispatch import fleet as fleet_module
from farm.dispatch.fleet import Fleet, Told
from farm.domain.work import Order, Report, WorkerInfo
from tests.fakes.cluster import ScriptedCluster, ScriptedWorker, obedient
from tests.unit.dispatch.play import Play, worker


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_POLL", "_GRACE", "_START"):
        monkeypatch.setattr(fleet_module, name, 0.05)


class Silent(ScriptedWorker):
    """Answers nothing of what is in `mute`."""

    def __init__(self, *mute: str) -> None:
        super().__init__(worker("w1"), obedient)
        self.mute = set(mute)
        self.asked = 0

    async def info(self) -> WorkerInfo:
        return await super().info() if "info" not in self.mute else await self._never()

    async def attempts(self) -> tuple[str, ...]:
        self.asked += 1
        return await super().attempts() if "attempts" not in self.mute else await self._never()

    async def reports(self, after: int, wait: float) -> list[Report]:
        return await super().reports(after, wait) if "reports" not in self.mute else await self._never()

    async def start(self, order: Order) -> None:
        await super().start(order)
        if "start" in self.mute:
            raise WorkerGone("the answer was lost")

    async def _never[T](self) -> T:
        await asyncio.Event().wait()
        raise AssertionError


@asynccontextmanager
async def fleet_with(first: ScriptedWorker) -> AsyncIterator[tuple[Fleet, asyncio.Queue[Told]]]:
    cluster = ScriptedCluster(1)
    cluster.workers["w1"] = first
    inbox: asyncio.Queue[Told] = asyncio.Queue()
    fleet = Fleet(cluster, inbox)
    await fleet.tend()
    try:
        yield fleet, inbox
    finally:
        await fleet.close()


async def heard(inbox: asyncio.Queue[Told]) -> told.Event:
    async with asyncio.timeout(5):
        message = await inbox.get()
    message.committed.set()
    return message.events[0]


async def test_a_worker_whose_reports_are_late_is_asked_again_before_it_is_killed() -> None:
    slow = Silent("reports")
    async with fleet_with(slow) as (_, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        async with asyncio.timeout(5):
            while slow.asked < 4:
                await asyncio.sleep(0.01)
        assert not slow.dead
        slow.mute.add("attempts")
        assert await heard(inbox) == told.WorkerLost("w1")
        assert slow.dead
        assert isinstance(await heard(inbox), told.WorkerJoined)


async def test_a_worker_that_never_says_what_it_is_is_replaced() -> None:
    hung = Silent("info")
    async with fleet_with(hung) as (_, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        assert hung.dead


async def test_an_order_of_which_nobody_knows_whether_it_arrived_ends_with_a_new_worker() -> None:
    first = Silent("start")
    async with fleet_with(first) as (fleet, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        fleet.send("w1", an_order())
        events = [await heard(inbox) for _ in range(3)]
        assert first.dead
        assert told.OrderLost("a1") in events
        assert told.WorkerLost("w1") in events
        [joined] = [event for event in events if isinstance(event, told.WorkerJoined)]
        assert joined.attempts == ()


def an_order() -> Order:
    play = Play()
    play.join(worker("w1"))
    play.submit(frames="1")
    return play.orders()[0]
