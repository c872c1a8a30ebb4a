"""What the dispatcher relies on in a worker, for the real Ray actor and for the fake alike."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from farm.cluster import Cluster, Slot, WorkerGone, WorkerHandle
from farm.domain.job import RenderSettings
from farm.domain.task import TaskKind
from farm.domain.work import Cause, Failure, Order, Result
from farm.embedded import ray_head, state
from farm.embedded.home import Home
from farm.embedded.stack import RunningFarm
from farm.settings import Settings, StorageSettings
from tests.fakes.cluster import ScriptedCluster
from tests.unit.dispatch.play import MANIFEST


async def never(order: Order) -> Result | Failure:
    await asyncio.sleep(600)
    raise AssertionError(order.task)


@pytest.fixture(params=["fake", "ray"])
async def cluster(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncIterator[Cluster]:
    if request.param == "fake":
        yield ScriptedCluster(1, never)
        return
    farm: RunningFarm = request.getfixturevalue("running_farm")
    home = Home(farm.home)
    for name, value in ray_head.environment(home).items():
        monkeypatch.setenv(name, value)
    found = state.read(home.state)
    assert found is not None
    from farm.cluster.rays import RayCluster  # Ray reads its environment when it is imported

    # Storage that never answers keeps an order running for as long as a test needs.
    away = StorageSettings(endpoint="http://127.0.0.1:9", access_key="x", secret_key=SecretStr("x"))
    settings = Settings(ray_address=f"127.0.0.1:{found.ports['ray']}", storage=away, scratch=tmp_path)
    before = dict(os.environ)
    real = RayCluster(settings)
    yield real
    real.close()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
async def slot(cluster: Cluster) -> Slot:
    """A place beside those of the farm's own workers."""
    node = (await cluster.slots())[0].node_id
    return Slot("contract-1", node, gpu=False, threads=1)


@pytest.fixture
async def worker(cluster: Cluster, slot: Slot) -> AsyncIterator[WorkerHandle]:
    worker = await cluster.worker(slot)
    yield worker
    await worker.kill()


def order(attempt_id: str) -> Order:
    return Order(
        attempt_id=attempt_id,
        task="j1/inspect",
        kind=TaskKind.INSPECT,
        scene_id=MANIFEST.scene_id,
        manifest=MANIFEST,
        settings=RenderSettings(),
        prefix="test/",
    )


async def test_a_worker_does_one_thing_at_a_time_and_reports_until_it_is_heard(
    cluster: Cluster, slot: Slot, worker: WorkerHandle
) -> None:
    assert (await worker.info()).worker_id == "contract-1"
    assert await worker.attempts() == ()
    await worker.start(order("a1"))
    with pytest.raises(ValueError, match=r"busy|running"):
        await worker.start(order("a2"))
    assert await worker.attempts() == ("a1",)
    again = await cluster.worker(slot)  # as a new dispatcher would find it
    assert await again.attempts() == ("a1",)

    await worker.cancel("a1")
    ends = [r for r in await worker.reports(0, 10) if r.failure]
    assert [(end.attempt_id, end.failure.cause) for end in ends if end.failure] == [("a1", Cause.CANCELLED)]
    assert await worker.attempts() == ("a1",), "it was not heard yet"
    assert [r for r in await again.reports(0, 0) if r.failure] == ends
    assert await worker.reports(ends[-1].sequence, 0) == []
    assert await worker.attempts() == ()


async def test_an_order_may_come_with_the_question_for_reports_and_acknowledge_those_before(
    worker: WorkerHandle,
) -> None:
    await worker.start(order("a1"))
    with pytest.raises(ValueError, match=r"busy|running"):
        await worker.reports(0, 10, order("a2"))
    await worker.cancel("a1")
    [*_, ended] = [r for r in await worker.reports(0, 10) if r.failure]
    assert await worker.reports(ended.sequence, 0, order("a2")) == []
    assert await worker.attempts() == ("a2",)


async def test_an_order_that_is_cancelled_as_it_arrives_is_reported_too(worker: WorkerHandle) -> None:
    await asyncio.gather(worker.start(order("a1")), worker.cancel("a1"))
    await worker.cancel("a1")
    ends = [r for r in await worker.reports(0, 10) if r.failure]
    assert [end.failure.cause for end in ends if end.failure] == [Cause.CANCELLED]
    await worker.start(order("a2"))


async def test_cancelling_what_is_not_there_changes_nothing(worker: WorkerHandle) -> None:
    await worker.cancel("a9")
    assert await worker.attempts() == ()
    assert await worker.reports(0, 0) == []


async def test_an_idle_worker_is_probed_and_one_at_work_is_not(worker: WorkerHandle) -> None:
    assert await worker.probe() == ""
    await worker.start(order("a1"))
    with pytest.raises(ValueError, match=r"busy|running"):
        await worker.probe()
    await worker.cancel("a1")


@pytest.mark.parametrize("cluster", ["ray"], indirect=True)
async def test_a_worker_says_what_its_own_machine_s_settings_say_or_why_it_does_not_start(
    cluster: Cluster, running_farm: RunningFarm
) -> None:
    node = (await cluster.slots())[0].node_id
    slot = Slot("contract-2", node, gpu=False, threads=1)
    config = running_farm.home / "config.toml"
    try:
        config.write_text('worker_tags = ["RTX 4090"]\n')
        with pytest.raises(WorkerGone) as caught:
            await (await cluster.worker(slot)).info()
        assert str(caught.value) == (
            "FARM_WORKER_TAGS has “RTX 4090”, which is not a tag. "
            "Tags are short words of a-z, 0-9, dot, dash and underscore: FARM_WORKER_TAGS=rtx,studio-b."
        )
        config.write_text('worker_tags = ["rtx", "quiet"]\nworker_price = 0.45\n')
        worker = await cluster.worker(slot)
        info = await worker.info()
        assert (info.tags, info.price, info.away) == (("quiet", "rtx"), 0.45, "")
        await worker.kill()

        later = datetime.now() + timedelta(hours=3)
        config.write_text(f'lend_hours = "{later:%H}:00-{later:%H}:59"\n')
        lent = await _started(cluster, slot)
        assert (await lent.info()).away == f"its owner lends it {later:%H}:00-{later:%H}:59"
        await lent.start(order("a1"))
        told = await lent.reports(0, 10)
        assert [report.away for report in told if report.away is not None] == [(await lent.info()).away]
        assert [report.failure.cause for report in told if report.failure] == [Cause.PREEMPTED]
        assert await lent.attempts() == ("a1",)
        assert await lent.reports(told[-1].sequence, 0) == []
        assert await lent.attempts() == ()
        await lent.kill()
    finally:
        config.unlink()


async def _started(cluster: Cluster, slot: Slot) -> WorkerHandle:
    """A worker in the place of one that was killed just now."""
    async with asyncio.timeout(30):
        while True:
            try:
                worker = await cluster.worker(slot)
                await worker.attempts()
                return worker
            except WorkerGone:
                await asyncio.sleep(0.2)


async def test_a_dead_worker_is_gone_for_every_call_and_is_replaced(
    cluster: Cluster, slot: Slot, worker: WorkerHandle
) -> None:
    await worker.start(order("a1"))
    heard = await worker.reports(0, 1)
    waiting = asyncio.ensure_future(worker.reports(heard[-1].sequence if heard else 0, 20))
    await asyncio.sleep(0.5)
    await worker.kill()
    for call in (waiting, worker.info(), worker.attempts(), worker.start(order("a2")), worker.cancel("a1")):
        with pytest.raises(WorkerGone):
            await call
    fresh = await _started(cluster, slot)
    assert await fresh.attempts() == ()
    await fresh.kill()
