"""What the fleet does about workers that answer late, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from farm.cluster import Slot, WorkerGone
from farm.dispatch import events as told
from farm.dispatch import fleet as fleet_module
from farm.dispatch.fleet import Fleet, Told, event_of
from farm.domain.work import Order, Report, WorkerInfo
from tests.fakes.cluster import ScriptedCluster, ScriptedWorker, obedient
from tests.unit.dispatch.play import Play, worker


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_POLL", "_GRACE", "_START", "_SHORTEST_BACKOFF"):
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

    async def reports(self, after: int, wait: float, order: Order | None = None) -> list[Report]:
        if "reports" in self.mute:
            await self._never()
        return await super().reports(after, wait, order)

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


async def test_a_worker_whose_reports_are_late_is_asked_again_and_keeps_its_lease() -> None:
    slow = Silent("reports")
    async with fleet_with(slow) as (_, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        async with asyncio.timeout(5):
            while slow.asked < 4:
                await asyncio.sleep(0.01)
        assert inbox.empty()


async def test_a_worker_that_was_out_of_reach_joins_again_with_what_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleet_module, "_START", 60.0)
    cut_off = Silent()
    async with fleet_with(cut_off) as (_, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        cut_off.mute = {"info", "attempts", "reports"}
        await cut_off.start(an_order())  # it has this, and its result, all the same
        assert await heard(inbox) == told.WorkerLost("w1")
        await asyncio.sleep(0.3)
        assert inbox.empty()
        cut_off.mute = set()
        joined = await heard(inbox)
        assert isinstance(joined, told.WorkerJoined)
        assert joined.attempts == ("a1",)
        told_at_last = await heard(inbox)
        assert isinstance(told_at_last, told.Succeeded)
        assert told_at_last.attempt_id == "a1"
        assert not cut_off.dead


async def test_reports_whose_answer_was_lost_are_told_once_the_worker_answers_again() -> None:
    class Lossy(Silent):
        async def reports(self, after: int, wait: float, order: Order | None = None) -> list[Report]:
            found = await super().reports(after, wait, order)
            if found and not self.mute:
                self.mute = {"reports"}  # this answer, and those that follow, never arrive
                await self._never()
            return found

    lossy = Lossy()
    async with fleet_with(lossy) as (_, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        await lossy.start(an_order())
        async with asyncio.timeout(5):
            while lossy.asked < 4:
                await asyncio.sleep(0.01)
        lossy.mute = {"nothing"}
        succeeded = await heard(inbox)
        assert isinstance(succeeded, told.Succeeded)
        assert succeeded.attempt_id == "a1"


async def test_a_probe_is_told_of_whatever_comes_of_it() -> None:
    class Probed(Silent):
        answers: tuple[str, ...] = ("", "Its frame is black.")

        async def probe(self) -> str:
            if not self.answers:
                raise WorkerGone("it was killed")
            answer, *rest = self.answers
            self.answers = tuple(rest)
            return answer

    async with fleet_with(Probed()) as (fleet, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        found = []
        for _ in range(3):
            fleet.probe("w1")
            found.append(await heard(inbox))
        fleet.probe("w2")
        found.append(await heard(inbox))
    assert found == [
        told.WorkerProbed("w1", ""),
        told.WorkerProbed("w1", "Its frame is black."),
        told.WorkerProbed("w1", "it was killed"),
        told.WorkerProbed("w2", None),
    ]


async def test_a_probe_that_could_not_be_tried_proves_nothing() -> None:
    class Away(Silent):
        async def probe(self) -> str:
            raise ValueError("the worker is away: its owner is at it")

    async with fleet_with(Away()) as (fleet, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        fleet.probe("w1")
        assert await heard(inbox) == told.WorkerProbed("w1", None)


def test_a_worker_tells_when_it_takes_no_orders() -> None:
    assert event_of("w1", Report(sequence=1, away="lent from 19:00")) == told.WorkerAway(
        "w1", "lent from 19:00"
    )
    assert event_of("w1", Report(sequence=2, away="")) == told.WorkerAway("w1", "")
    with pytest.raises(ValueError, match="report 3"):
        event_of("w1", Report(sequence=3))


async def test_a_worker_that_cannot_start_is_told_of_once_that_is_sure_and_joins_when_it_can() -> None:
    cluster = ScriptedCluster(1)
    there, tries = cluster.worker, 0

    async def at_the_fourth(slot: Slot) -> ScriptedWorker:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise WorkerGone("FARM_WORKER_PRICE is “-1”.")
        return await there(slot)

    cluster.worker = at_the_fourth  # type: ignore[method-assign]
    inbox: asyncio.Queue[Told] = asyncio.Queue()
    fleet = Fleet(cluster, inbox)
    await fleet.tend()
    try:
        events = [await heard(inbox) for _ in range(3)]
    finally:
        await fleet.close()
    assert events[:2] == [told.WorkerFailed("w1", "FARM_WORKER_PRICE is “-1”.")] * 2, "not of the first try"
    assert isinstance(events[2], told.WorkerJoined)


async def test_a_worker_that_never_says_what_it_is_is_replaced() -> None:
    hung = Silent("info")
    async with fleet_with(hung) as (_, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        assert hung.dead


async def test_a_worker_of_which_nobody_knows_whether_its_order_arrived_is_met_again() -> None:
    first = Silent("start")
    async with fleet_with(first) as (fleet, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        fleet.send("w1", an_order())
        events = [await heard(inbox) for _ in range(4)]
        assert not first.dead
        assert told.OrderLost("a1") in events
        assert told.WorkerLost("w1") in events
        [joined] = [event for event in events if isinstance(event, told.WorkerJoined)]
        assert joined.attempts == ("a1",)  # and its result comes after that
        assert events.index(joined) > events.index(told.WorkerLost("w1"))


def an_order() -> Order:
    play = Play()
    play.join(worker("w1"))
    play.submit(frames="1")
    return play.orders()[0]


class Asked(Silent):
    """Notes how its orders came."""

    def __init__(self, *mute: str) -> None:
        super().__init__(*mute)
        self.came: list[tuple[str, str]] = []

    async def start(self, order: Order) -> None:
        self.came.append((order.attempt_id, "alone"))
        await super().start(order)

    async def reports(self, after: int, wait: float, order: Order | None = None) -> list[Report]:
        if order is not None:
            await self.ordered(order)
        return await super().reports(after, wait)

    async def ordered(self, order: Order) -> None:
        self.came.append((order.attempt_id, "asked"))
        await Silent.start(self, order)


@asynccontextmanager
async def reported(asked: Asked) -> AsyncIterator[tuple[Fleet, asyncio.Queue[Told]]]:
    """The worker has done its first order; its second, a2, is handed over before that is acknowledged."""
    async with fleet_with(asked) as (fleet, inbox):
        assert isinstance(await heard(inbox), told.WorkerJoined)
        fleet.send("w1", an_order())
        async with asyncio.timeout(5):
            message = await inbox.get()
        fleet.send("w1", an_order().model_copy(update={"attempt_id": "a2"}))
        assert asked.came == [("a1", "alone")]
        message.committed.set()
        yield fleet, inbox


async def test_the_next_order_goes_out_with_the_next_question_once_what_was_heard_is_acknowledged() -> None:
    asked = Asked()
    async with reported(asked) as (fleet, inbox):
        second = await heard(inbox)
        assert isinstance(second, told.Succeeded)
        assert second.attempt_id == "a2"
        await asyncio.sleep(0.1)
        fleet.send("w1", an_order().model_copy(update={"attempt_id": "a3"}))  # it has long been asked
        third = await heard(inbox)
        assert isinstance(third, told.Succeeded)
        assert third.attempt_id == "a3"
    assert asked.came == [("a1", "alone"), ("a2", "asked"), ("a3", "alone")]


async def test_a_worker_that_refuses_the_order_that_came_with_a_question_is_met_again() -> None:
    class Unwilling(Asked):
        async def ordered(self, order: Order) -> None:
            raise ValueError("it is busy")

    async with reported(Unwilling()) as (_, inbox):
        assert await heard(inbox) == told.OrderLost("a2")
        assert await heard(inbox) == told.WorkerLost("w1")
        joined = await heard(inbox)
        assert isinstance(joined, told.WorkerJoined)
        assert joined.attempts == ("a1",)  # it could not be told that this was heard


async def test_a_worker_that_dies_after_it_was_given_its_order_is_lost_with_it() -> None:
    class Mortal(Asked):
        async def ordered(self, order: Order) -> None:
            raise WorkerGone("it was killed")

    async with reported(Mortal()) as (_, inbox):
        assert await heard(inbox) == told.WorkerLost("w1")


@pytest.mark.parametrize("arrived", [True, False])
async def test_where_a_question_gets_no_answer_the_worker_says_whether_the_order_with_it_arrived(
    arrived: bool,
) -> None:
    class Deaf(Asked):
        async def ordered(self, order: Order) -> None:
            if arrived:
                await super().ordered(order)
            await self._never()

    async with reported(Deaf()) as (_, inbox):
        if arrived:
            second = await heard(inbox)
            assert isinstance(second, told.Succeeded)
        else:
            assert await heard(inbox) == told.OrderLost("a2")
            assert await heard(inbox) == told.WorkerLost("w1")
            assert isinstance(await heard(inbox), told.WorkerJoined)
