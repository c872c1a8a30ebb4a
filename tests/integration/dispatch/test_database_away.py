"""A database that does not answer for a while: a turn waits for it, or the next dispatcher goes on."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from farm.dispatch import turns
from farm.dispatch.loop import Dispatcher
from farm.domain.errors import Unavailable
from farm.domain.job import LOCAL_OWNER
from farm.domain.states import JobState
from farm.domain.work import Failure, Order, Result
from farm.service import attempts, frames
from farm.service.context import Farm
from farm.settings import Settings
from farm.storage import MemoryStorage
from farm.store import Database, database, head, scenes
from farm.store import jobs as job_rows
from tests.fakes.cluster import ScriptedCluster, obedient
from tests.integration.dispatch.test_loop import dispatching, submit, until_ended
from tests.postgres import postgres
from tests.unit.dispatch.play import MANIFEST

__all__ = ["postgres"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "farm.sqlite3"


@pytest.fixture
def farm(file: Path) -> Iterator[Farm]:
    """Its transactions wait a tenth of a second for those of others."""
    farm = Farm(Database(f"sqlite:///{file}", 0.1), MemoryStorage(), Settings(home=file.parent))
    with farm.store.write() as connection:
        job_rows.add_user(connection, LOCAL_OWNER, 1.0)
        scenes.add_scene(connection, MANIFEST, 1.0)
    yield farm
    farm.close()


async def slowly(order: Order) -> Result | Failure:
    await asyncio.sleep(0.05)
    return await obedient(order)


def nothing_is_doubled(farm: Farm, job_id: str, count: int) -> None:
    tries = attempts.listed(farm, LOCAL_OWNER, job_id, failed=False)
    done = [attempt.task for attempt in tries if attempt.state == "done"]
    assert len(done) == len(set(done)) == 1 + count
    views = frames.listed(farm, LOCAL_OWNER, job_id, 0, count)
    assert [len(view.outputs) for view in views] == [1] * count


async def test_a_dispatcher_outlives_a_lock_that_another_process_holds_and_its_workers_go_on(
    farm: Farm, file: Path
) -> None:
    job_id = submit(farm, frames="1-20")
    cluster, beats = ScriptedCluster(2, slowly), 0

    def beaten() -> None:
        nonlocal beats
        beats += 1

    dispatcher = Dispatcher(farm.store, farm.storage, cluster, beaten=beaten)
    running = asyncio.create_task(dispatcher.run())
    try:
        async with asyncio.timeout(20):
            while not cluster.workers or len(cluster.workers["w1"].orders) < 3:
                await asyncio.sleep(0.01)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(0.5)  # a turn that has begun is committed by now
            before = beats
            await asyncio.sleep(1.0)
            assert beats > before, "who watches over it sees that it lives"
            given = {name: len(worker.orders) for name, worker in cluster.workers.items()}
            await asyncio.sleep(0.3)
            assert given == {name: len(worker.orders) for name, worker in cluster.workers.items()}
            other.execute("COMMIT")
        job = await until_ended(farm, job_id)
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await dispatcher.close()
    assert job.state is JobState.DONE
    nothing_is_doubled(farm, job_id, 20)
    tries = attempts.listed(farm, LOCAL_OWNER, job_id, failed=False)
    assert {attempt.state for attempt in tries} == {"done"}, "nothing was lost"


async def test_one_that_waits_too_long_ends_and_the_next_one_goes_on(
    farm: Farm, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 0.3)
    job_id, cluster = submit(farm, frames="1-5"), ScriptedCluster(1, slowly)
    async with dispatching(farm, cluster) as running:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="locked"):
                await asyncio.wait_for(running, 20)
    async with dispatching(farm, cluster):
        assert (await until_ended(farm, job_id)).state is JobState.DONE
    nothing_is_doubled(farm, job_id, 5)


@pytest.mark.parametrize("committed", [False, True])
async def test_a_turn_that_fails_once_it_has_begun_ends_its_dispatcher_and_the_next_one_goes_on(
    farm: Farm, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """Whether it was committed is not known then: here it was, or was not."""
    job_id, cluster = submit(farm, frames="1-5"), ScriptedCluster(2, slowly)
    commit, failed = turns.Turns._commit, 0

    def fails(self: turns.Turns, *arguments: object, beats: bool) -> turns.Done:
        nonlocal failed
        if sum(len(worker.orders) for worker in cluster.workers.values()) < 3 or failed:
            return commit(self, *arguments, beats=beats)  # type: ignore[arg-type]
        failed += 1
        if committed:
            commit(self, *arguments, beats=beats)  # type: ignore[arg-type]
        raise Unavailable("The connection broke.")

    monkeypatch.setattr(turns.Turns, "_commit", fails)
    async with dispatching(farm, cluster) as running:
        with pytest.raises(Unavailable, match="broke"):
            await asyncio.wait_for(running, 20)
    async with dispatching(farm, cluster):
        assert (await until_ended(farm, job_id)).state is JobState.DONE
    assert failed == 1
    nothing_is_doubled(farm, job_id, 5)


def test_a_dispatcher_that_stops_within_a_transaction_does_not_keep_the_head_for_ever(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_IDLE", 0.5)
    url = str(request.getfixturevalue("postgres")())
    stopped, fresh = Database(url), Database(url)
    with stopped.write() as connection:
        epoch = head.take(connection, 1.0)
    with pytest.raises(Unavailable), stopped.write() as connection:
        head.check(connection, epoch)
        with fresh.write() as other:  # waits for the row that the one that stopped holds
            began = time.monotonic()
            assert head.take(other, 2.0) == epoch + 1
            assert time.monotonic() - began < 30
        head.beat(connection, 3.0)
    for each in (stopped, fresh):
        each.close()
