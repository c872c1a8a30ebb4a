"""The web app on the real service, store and dispatcher; only the workers follow a script."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from farm.dispatch.loop import Dispatcher
from farm.domain.job import LOCAL_OWNER
from farm.service.context import Farm
from farm.settings import Settings
from farm.storage import MemoryStorage
from farm.store import Database
from farm.store import jobs as job_rows
from tests.fakes.cluster import ScriptedCluster
from web.app import create_app
from web.opened import OpenFarm

BLEND = b"BLENDER-v500 not really"
NAME = hashlib.sha256(BLEND).hexdigest()


@pytest.fixture
async def farm(tmp_path: Path) -> AsyncIterator[Farm]:
    farm = Farm(Database(f"sqlite:///{tmp_path / 'farm.sqlite3'}"), MemoryStorage(), Settings(home=tmp_path))
    with farm.store.write() as connection:
        job_rows.add_user(connection, LOCAL_OWNER, 1.0)
    yield farm
    farm.close()


@pytest.fixture
async def client(farm: Farm) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(OpenFarm(farm)))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def submitted(client: httpx.AsyncClient, **settings: object) -> str:
    """The way of a client: what is missing, the bytes, the scene, the job."""
    assert (await client.post("/api/blobs/missing", json={"sha256": [NAME]})).json() == {"sha256": [NAME]}
    assert (await client.put(f"/api/blobs/{NAME}", content=BLEND)).status_code == 201
    assert (await client.post("/api/blobs/missing", json={"sha256": [NAME]})).json() == {"sha256": []}
    manifest = {"main": "a.blend", "files": {"a.blend": {"sha256": NAME, "bytes": len(BLEND)}}}
    scene = (await client.post("/api/scenes", json=manifest)).json()["scene_id"]
    job = await client.post("/api/jobs", json={"name": "One", "scene_id": scene, "settings": settings})
    assert job.status_code == 201, job.text
    return str(job.json()["id"])


async def test_a_job_goes_its_way_and_api_and_pages_tell_the_same(
    client: httpx.AsyncClient, farm: Farm
) -> None:
    job_id = await submitted(client, frames="1-5", tiles="2x1")
    assert "Waiting" in (await client.get(f"/jobs/{job_id}")).text

    dispatcher = Dispatcher(farm.store, farm.storage, ScriptedCluster(2))
    running = asyncio.create_task(dispatcher.run())
    try:
        after, kinds = 0, []
        async with asyncio.timeout(30):
            while (await client.get(f"/api/jobs/{job_id}")).json()["state"] != "done":
                batch = (await client.get(f"/api/events?job={job_id}&after={after}&wait=1")).json()
                kinds += [event["kind"] for event in batch]
                after = batch[-1]["sequence"] if batch else after
        pulse = (await client.get("/api/farm")).json()
        assert (pulse["dispatcher"], pulse["storage"], len(pulse["workers"])) == ("alive", "ok", 2)
        assert (await client.get("/farm")).text.count('class="worker"') == 2
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await dispatcher.close()

    assert {"job.state", "job.planned", "frame.state", "output.committed"} <= set(kinds)
    frames = (await client.get(f"/api/jobs/{job_id}/frames")).json()
    assert [(frame["frame"], frame["state"]) for frame in frames] == [(n, "done") for n in range(1, 6)]
    page = (await client.get(f"/jobs/{job_id}")).text
    assert 'aria-label="5 of 5 frames done"' in page
    assert 'aria-label="5 of 5 frames done"' in (await client.get("/")).text
    assert (await client.get(f"/jobs/{job_id}/frames/3")).status_code == 200
    cancelled = await client.post(f"/api/jobs/{job_id}/cancel")
    assert (cancelled.status_code, cancelled.json()["code"]) == (409, "conflict")


async def test_a_cancelled_job_says_so_at_once(client: httpx.AsyncClient) -> None:
    job_id = await submitted(client)
    assert (await client.post(f"/api/jobs/{job_id}/cancel")).json()["cancelling"] is True
    page = (await client.get(f"/jobs/{job_id}")).text
    assert "Cancelling" in page
    assert 'id="cancel-' not in page


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/jobs/nope2345", 404),
        ("GET", "/api/jobs/nope2345/frames", 404),
        ("GET", "/api/jobs/nope2345/attempts", 404),
        ("GET", "/api/jobs?before=nope2345", 404),
        ("GET", "/api/outputs/1", 404),
        ("GET", "/api/outputs/9223372036854775807", 404),
        ("GET", "/api/events/stream?job=nope2345", 404),
        ("GET", "/jobs/nope2345", 404),
    ],
)
async def test_what_is_not_there_is_told(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == status


async def test_a_job_of_an_unknown_scene_and_a_damaged_upload_are_refused(client: httpx.AsyncClient) -> None:
    job = await client.post("/api/jobs", json={"name": "One", "scene_id": "0" * 64})
    assert (job.status_code, job.json()["code"]) == (422, "bad-input")
    blob = await client.put(f"/api/blobs/{'0' * 64}", content=BLEND)
    assert (blob.status_code, blob.json()["code"]) == (422, "bad-input")
