"""The wall clock of the head jumps, as it does where the time is set: nothing waits for it to come back."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from farm.dispatch.loop import Dispatcher
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.work import Failure, Order, Result
from farm.service import jobs
from farm.service.context import Farm
from farm.settings import Settings
from farm.storage import MemoryStorage
from farm.store import Database, scenes
from farm.store import jobs as job_rows
from tests.chaos.truth import check_truth
from tests.fakes.cluster import ScriptedCluster, obedient
from tests.unit.dispatch.play import MANIFEST

DAY = 86_400.0


@pytest.mark.parametrize("leap", [-10 * DAY, -60.0, 60.0, 10 * DAY], ids=str)
async def test_a_job_ends_while_the_clock_jumps(tmp_path: Path, leap: float) -> None:
    async def steady(order: Order) -> Result | Failure:
        await asyncio.sleep(0.02)
        return await obedient(order)

    offset = 0.0
    farm = Farm(Database(f"sqlite:///{tmp_path / 'farm.sqlite3'}"), MemoryStorage(), Settings(home=tmp_path))
    with farm.store.write() as connection:
        job_rows.add_user(connection, LOCAL_OWNER, 1.0)
        scenes.add_scene(connection, MANIFEST, 1.0)
    spec = JobSpec(
        name="One", scene_id=MANIFEST.scene_id, settings=RenderSettings(frames="1-30", tiles="2x1")
    )
    job_id = jobs.submit(farm, LOCAL_OWNER, spec).id
    dispatcher = Dispatcher(
        farm.store, farm.storage, ScriptedCluster(2, steady), lambda: time.time() + offset
    )
    running = asyncio.create_task(dispatcher.run())
    try:
        async with asyncio.timeout(60):
            while (job := jobs.get(farm, LOCAL_OWNER, job_id)).state not in JOB_ENDED:
                if job.frames.done > 5:
                    offset = leap
                assert not running.done()
                await asyncio.sleep(0.05)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await dispatcher.close()
    assert job.state is JobState.DONE
    assert check_truth(farm.store) == []
    farm.close()
