"""Starting, cancelling, reporting and closing: what the head can rely on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from farm.domain.errors import Unavailable
from farm.storage import MemoryStorage
from tests.integration.workers.conftest import FAKE, TILED, Bench
from tests.processes import family
from workers.worker import Worker


async def test_one_attempt_at_a_time(bench: Bench) -> None:
    scene = bench.scene("renderframe = slow 100")
    await bench.worker.start(bench.order("job/1/whole", scene))
    with pytest.raises(ValueError, match="attempt1 is running"):
        await bench.worker.start(bench.order("job/2/whole", scene))
    assert await bench.worker.attempts() == ["attempt1"]


async def test_an_end_is_given_until_it_is_acknowledged(bench: Bench) -> None:
    await bench.worker.start(bench.order("job/1/whole", bench.scene()))
    reports: list[dict] = []
    while not reports or reports[-1]["result"] is None:
        reports = await bench.worker.reports(0, 10)
    last = reports[-1]["sequence"]
    assert await bench.worker.reports(0, 0) == reports
    assert await bench.worker.reports(last - 1, 0) == reports[-1:]
    assert await bench.worker.attempts() == ["attempt1"]
    assert await bench.worker.reports(last, 0) == []
    assert await bench.worker.attempts() == []


async def test_a_new_attempt_may_start_before_the_last_end_is_acknowledged(bench: Bench) -> None:
    scene = bench.scene()
    await bench.worker.start(bench.order("job/1/whole", scene))
    while (await bench.worker.reports(0, 10))[-1]["result"] is None:
        pass
    await bench.worker.start(bench.order("job/2/whole", scene))
    assert await bench.worker.attempts() == ["attempt1", "attempt2"]
    while len([r for r in await bench.worker.reports(0, 10) if r["result"]]) < 2:
        await asyncio.sleep(0.01)
    numbers = [report["sequence"] for report in await bench.worker.reports(0, 0)]
    assert numbers == sorted(set(numbers))


async def test_progress_is_what_was_counted_and_not_each_count_is_told(bench: Bench) -> None:
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = slow 100")))
    await bench.progress("rendering", 5)
    told = bench.seen[-1]["progress"]
    assert (told["phase"], told["samples"], told["layer"]) == ("rendering", 100, "ViewLayer")
    assert len(bench.seen) < 5 <= told["sample"] <= 100


async def test_waiting_for_reports_ends_when_there_is_none(bench: Bench) -> None:
    assert await bench.worker.reports(0, 0.05) == []


async def test_a_cancelled_attempt_ends_at_once_and_leaves_no_process(bench: Bench) -> None:
    scene = bench.scene("rendertile = slow 1000")
    await bench.worker.start(bench.order("job/1/tile-0", scene, plan=TILED))
    await bench.progress("rendering", 2)
    assert len(family()) == 1
    async with asyncio.timeout(2):
        await bench.worker.cancel("attempt1")
        report = await bench.end()
    assert report["failure"]["cause"] == "cancelled"
    assert family() == set()
    assert await bench.result("job/1/whole", scene)


async def test_cancelling_in_a_sandbox_leaves_no_process(
    make_bench: Callable[..., Awaitable[Bench]],
) -> None:
    bench = await make_bench(sandbox=True)
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = hang")))
    await bench.progress("syncing")
    async with asyncio.timeout(2):
        await bench.worker.cancel("attempt1")
    assert family() == set()


async def test_an_order_that_is_cancelled_as_it_arrives_is_reported_too(bench: Bench) -> None:
    order = bench.order("job/1/whole", bench.scene())
    await asyncio.gather(bench.worker.start(order), bench.worker.cancel("attempt1"))
    assert (await bench.end())["failure"]["cause"] == "cancelled"
    assert await bench.result("job/1/whole", bench.scene())


async def test_cancelling_twice_at_once_gives_one_report(bench: Bench) -> None:
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = slow 1000")))
    await bench.progress("rendering", 2)
    await asyncio.gather(bench.worker.cancel("attempt1"), bench.worker.cancel("attempt1"))
    assert (await bench.end())["failure"]["cause"] == "cancelled"
    assert await bench.worker.reports(0, 0) == []
    assert await bench.worker.attempts() == []


async def test_cancelling_something_else_changes_nothing(bench: Bench) -> None:
    await bench.worker.start(bench.order("job/1/whole", bench.scene()))
    await bench.worker.cancel("another")
    assert (await bench.end())["result"] is not None
    await bench.worker.cancel("attempt1")
    assert await bench.worker.reports(0, 0) == []


async def test_closing_ends_the_children_and_deletes_the_files(
    make_bench: Callable[..., Awaitable[Bench]], tmp_path: Path
) -> None:
    bench = await make_bench()
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = slow 1000")))
    await bench.progress("rendering", 2)
    assert len(family()) == 1
    await bench.worker.close()
    assert family() == set()
    assert list((tmp_path / "workers").iterdir()) == []


async def test_closing_while_a_render_process_is_asked_what_it_is_ends_it(
    make_bench: Callable[..., Awaitable[Bench]],
) -> None:
    bench = await make_bench()
    asked = asyncio.create_task(bench.worker.info())
    while not family():
        await asyncio.sleep(0.01)
    await bench.worker.close()
    assert family() == set()
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_a_picture_waits_for_storage_to_come_back(bench: Bench) -> None:
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = slow 25")))
    await bench.progress("rendering", 1)
    bench.storage.away = True
    await bench.progress("waiting for storage")
    bench.storage.away = False
    report = await bench.end()
    assert report["result"]["files"][0]["name"] == "shot_0001.png"
    seconds = report["result"]["seconds"]
    parts = ("fetch", "load", "sync", "render", "save", "store")
    assert sum(seconds[part] for part in parts) < seconds["total"]


async def test_while_the_head_is_away_a_worker_goes_on_and_keeps_what_it_has(bench: Bench) -> None:
    scene = bench.scene()
    for frame in (1, 2, 3):
        await bench.worker.start(bench.order(f"job/{frame}/whole", scene))
        while bench.worker._running is not None:
            await asyncio.sleep(0.01)
    kept = await bench.worker.reports(0, 0)
    assert [(r["attempt_id"], r["result"] is not None) for r in kept] == [
        ("attempt1", True),
        ("attempt2", True),
        ("attempt3", True),
    ]


async def test_storage_that_stays_away_is_a_storage_failure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.patiently.PATIENCE", 0.6)
    scene = bench.scene()
    bench.storage.away = True
    failure = await bench.failure("job/1/whole", scene)
    assert failure["cause"] == "storage"
    bench.storage.away = False
    assert await bench.result("job/1/whole", scene)


async def test_cancelling_while_storage_is_away_ends_at_once(bench: Bench) -> None:
    scene = bench.scene()
    bench.storage.away = True
    await bench.worker.start(bench.order("job/1/whole", scene))
    await bench.progress("waiting for storage")
    async with asyncio.timeout(2):
        await bench.worker.cancel("attempt1")
    assert (await bench.end())["failure"]["cause"] == "cancelled"
    bench.storage.away = False
    assert await bench.result("job/1/whole", scene)


async def test_two_workers_of_one_name_cannot_share_a_machine(
    bench: Bench, tmp_path: Path, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.home.PATIENCE", 0.0)
    with pytest.raises(Unavailable, match="already called “w1”"):
        Worker({"worker_id": "w1", "scratch": str(tmp_path)}, storage=storage, modules=FAKE)


async def test_a_gpu_worker_without_its_gpu_says_so(
    make_bench: Callable[..., Awaitable[Bench]],
) -> None:
    bench = await make_bench(device="OPTIX")
    with pytest.raises(Unavailable, match="OPTIX") as caught:
        await bench.worker.info()
    assert caught.value.cure
    assert (await bench.failure("job/1/whole", bench.scene()))["cause"] == "no-device"
