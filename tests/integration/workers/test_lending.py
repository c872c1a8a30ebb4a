"""A workstation that is lent: what runs when its owner comes back, and what it takes until they leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.integration.workers.conftest import Bench
from tests.processes import family
from workers.hours import Hours
from workers.lender import Senses
from workers.lending import Lending
from workers.machine import Machine

NOON, NIGHT = datetime(2026, 12, 1, 12), datetime(2026, 12, 1, 23)
type Make = Callable[..., Awaitable[Bench]]


class Desk:
    """Where the owner sits, or not."""

    def __init__(self) -> None:
        self.now = NIGHT
        self.idle: float | None = 10_000.0
        self.quiet = 10_000.0

    @property
    def senses(self) -> Senses:
        return Senses(now=lambda: self.now, idle=lambda: self.idle, quiet=lambda _: lambda: self.quiet)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def lent(hours: str = "", idle: float | None = 600, **more: Any) -> Machine:
    return Machine(lending=Lending(Hours.parse(hours) if hours else None, idle, **more))


async def away(bench: Bench, why: str) -> None:
    """Wait until the worker tells that it is away because of ``why``, or (empty) that it is back."""
    async with asyncio.timeout(10):
        while True:
            for report in await bench.worker.reports(0, 5):
                told = report["away"]
                if told is not None and (told.startswith(why) if why else not told):
                    return


async def test_what_runs_is_ended_within_two_seconds_when_the_owner_comes_back(
    make_bench: Make, desk: Desk
) -> None:
    bench = await make_bench(machine=lent(), senses=desk.senses)
    assert (await bench.worker.info())["away"] == ""
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = slow 1000")))
    await bench.progress("rendering", 2)
    began, desk.idle = time.monotonic(), 0
    failure = (await bench.end())["failure"]
    assert time.monotonic() - began < 2
    assert failure["cause"] == "preempted"
    assert failure["what"] == (
        "The worker's owner took it back: its owner is at it; lent after 10 min without them."
    )
    assert family() == set()
    assert (await bench.worker.info())["away"] == "its owner is at it; lent after 10 min without them"


async def test_an_order_that_comes_while_the_owner_is_there_is_given_back_and_taken_later(
    make_bench: Make, desk: Desk
) -> None:
    bench = await make_bench(machine=lent(), senses=desk.senses)
    desk.idle = 30
    scene = bench.scene()
    failure = await bench.failure("job/1/whole", scene)
    assert failure["cause"] == "preempted"
    assert family() == set()
    desk.idle = 700
    await away(bench, "")
    assert await bench.result("job/1/whole", scene)


async def test_what_is_warm_leaves_with_it(make_bench: Make, desk: Desk) -> None:
    bench = await make_bench(machine=lent(), senses=desk.senses)
    scene = bench.scene()
    await bench.result("job/1/whole", scene)
    assert family()
    desk.idle = 0
    await away(bench, "its owner is at it")
    async with asyncio.timeout(5):
        while family():
            await asyncio.sleep(0.01)
    desk.idle = 700
    await away(bench, "")
    assert await bench.result("job/2/whole", scene)


async def test_when_the_hours_end_what_runs_is_ended(make_bench: Make, desk: Desk) -> None:
    bench = await make_bench(machine=lent(idle=None, hours="19:00-08:00"), senses=desk.senses)
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = slow 1000")))
    await bench.progress("rendering", 2)
    desk.now = NOON
    failure = (await bench.end())["failure"]
    assert (failure["cause"], failure["what"]) == (
        "preempted",
        "The worker's owner took it back: its owner lends it 19:00-08:00.",
    )


async def test_or_finished_where_the_owner_allows_it_until_they_come_back(
    make_bench: Make, desk: Desk
) -> None:
    machine = lent(idle=600, hours="19:00-08:00", finish=True)
    bench = await make_bench(machine=machine, senses=desk.senses)
    scene = bench.scene("renderframe = slow 25")
    await bench.worker.start(bench.order("job/1/whole", scene))
    await bench.progress("rendering", 2)
    desk.now = NOON
    await away(bench, "its owner lends it")
    assert (await bench.end())["result"] is not None
    assert family() == set(), "nothing stays in its owner's time"
    assert (await bench.failure("job/2/whole", scene))["cause"] == "preempted"

    desk.now = NIGHT
    await away(bench, "")
    await bench.worker.start(bench.order("job/2/whole", bench.scene("renderframe = slow 1000")))
    await bench.progress("rendering", 2)
    desk.now = NOON
    await away(bench, "its owner lends it")
    desk.idle = 0
    assert (await bench.end())["failure"]["cause"] == "preempted"


async def test_a_probe_that_its_owner_ends_tells_nothing(
    make_bench: Make, desk: Desk, tmp_path: Path
) -> None:
    bench = await make_bench(machine=lent(), senses=desk.senses)
    await bench.worker.info()
    (tmp_path / "driver-cache").mkdir(exist_ok=True)
    (tmp_path / "driver-cache" / "probe").write_text("slow 1000")
    probing = asyncio.create_task(bench.worker.probe())
    while not family():
        await asyncio.sleep(0.01)
    desk.idle = 0
    with pytest.raises(ValueError, match="the machine was taken back: its owner is at it"):
        await probing
    assert family() == set()


async def test_its_owner_s_own_programs_count_as_its_owner(make_bench: Make, desk: Desk) -> None:
    bench = await make_bench(machine=lent(busy=1.0), senses=desk.senses)
    desk.quiet = 0
    assert (await bench.worker.info())["away"].startswith("its owner is at it")


async def test_where_nobody_can_tell_it_is_not_lent(make_bench: Make, desk: Desk) -> None:
    desk.idle = None
    bench = await make_bench(machine=lent(), senses=desk.senses)
    assert (await bench.worker.info())["away"].startswith("whether its owner is at it cannot be told")
    with pytest.raises(ValueError, match="the worker is away"):
        await bench.worker.probe()


async def test_a_worker_tells_its_tags_and_its_price(make_bench: Make) -> None:
    bench = await make_bench(machine=Machine(("rtx", "studio-b"), 0.45))
    info = await bench.worker.info()
    assert (info["tags"], info["price"], info["away"]) == (["rtx", "studio-b"], 0.45, "")
    assert (info["gpu_memory"], info["driver"]) == (0, "")


async def test_closing_while_its_owner_takes_it_back_ends_everything(make_bench: Make, desk: Desk) -> None:
    bench = await make_bench(machine=lent(), senses=desk.senses)
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = slow 1000")))
    await bench.progress("rendering", 2)
    desk.idle = 0
    await away(bench, "its owner is at it")
    await bench.worker.close()
    assert family() == set()
