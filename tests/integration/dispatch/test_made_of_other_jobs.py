"""Through the whole dispatcher: movies, proofs and added samples, with what their orders carry."""

from __future__ import annotations

from functools import partial

import pytest

from farm.dispatch.recovery import load_job
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings, new_id
from farm.domain.plan import Plan
from farm.domain.states import JobState
from farm.domain.task import TaskKind
from farm.domain.work import Failure, Order, Result, Role
from farm.service import events
from farm.service.context import Farm
from farm.store import jobs as job_rows
from farm.store import outputs, proofs
from tests.fakes.cluster import ScriptedCluster, obedient
from tests.integration.dispatch.test_loop import dispatching, farm, postgres, submit, until_ended
from tests.unit.dispatch.play import AVX2, MANIFEST, SSE, good_result, report, stored

__all__ = ["farm", "postgres"]


def orders(cluster: ScriptedCluster, kind: TaskKind) -> list[Order]:
    return [order for worker in cluster.workers.values() for order in worker.orders if order.kind is kind]


def made_of(farm: Farm, settings: RenderSettings, plan: Plan | None = None, **of: str) -> str:
    """A job as the service makes it of another one."""
    job_id = new_id()
    spec = JobSpec(name="Two", scene_id=MANIFEST.scene_id, settings=settings, **of)
    with farm.store.write() as connection:
        job_rows.add(connection, job_id, LOCAL_OWNER, spec, farm.now())
        if plan is not None:
            made = {"plan": plan.model_dump_json(), "report": report().model_dump_json()}
            job_rows.change(connection, job_id, **made)
    return job_id


async def test_a_movie_gets_the_pictures_and_previews_of_all_frames(farm: Farm) -> None:
    async def with_nodes(order: Order) -> Result | Failure:
        result = await obedient(order)
        assert isinstance(result, Result)
        if order.kind is TaskKind.INSPECT:
            scene = report(movie=True, output_name="shot_###")
            return result.model_copy(update={"report": scene})
        if order.kind is TaskKind.FRAME:
            number = int(order.task.split("/")[1])
            names = {
                "depth/shot_%03d.exr": Role.OUTPUT,
                "alpha%03d.png": Role.OUTPUT,
                "shot_%03d.png": Role.OUTPUT,
                ".tessera/preview.jpg": Role.PREVIEW,
            }
            files = [stored(role, name % number if "%" in name else name) for name, role in names.items()]
            return result.model_copy(update={"files": tuple(files)})
        return result

    cluster = ScriptedCluster(2, with_nodes)
    job_id = submit(farm, frames="9-11", video=True)
    async with dispatching(farm, cluster):
        job = await until_ended(farm, job_id)
    assert job.state is JobState.DONE
    [encode] = orders(cluster, TaskKind.ENCODE)
    assert [(picture.frame, picture.file.role, picture.file.name) for picture in encode.pictures] == [
        (9, Role.OUTPUT, "alpha009.png"),
        (9, Role.OUTPUT, "shot_009.png"),
        (9, Role.PREVIEW, ".tessera/preview.jpg"),
        (10, Role.OUTPUT, "alpha010.png"),
        (10, Role.OUTPUT, "shot_010.png"),
        (10, Role.PREVIEW, ".tessera/preview.jpg"),
        (11, Role.OUTPUT, "alpha011.png"),
        (11, Role.OUTPUT, "shot_011.png"),
        (11, Role.PREVIEW, ".tessera/preview.jpg"),
    ]
    with farm.store.read() as connection:
        [movie] = outputs.movies(connection, [job_id])[job_id]
    assert (movie.frame, movie.file.name) == (None, f"{job_id}-encode")
    told = [event.data for event in events.after(farm, LOCAL_OWNER, 0, job_id)]
    assert [data["name"] for data in told if data.get("role") == "video"] == [f"{job_id}-encode"]


async def test_a_proof_is_kept_and_told_of_the_job_that_was_verified(farm: Farm) -> None:
    async def second_differs(order: Order) -> Result | Failure:
        if order.task.endswith("/2/verify"):
            return good_result(order, AVX2, differing=3)
        return await obedient(order)

    cluster = ScriptedCluster(2, second_differs)
    job_id = submit(farm, frames="1-3", tiles="2x1")
    async with dispatching(farm, cluster):
        await until_ended(farm, job_id)
        whole = Plan(frames="1-2", width=640, height=360, reason="2 frames, verified")
        proof_id = made_of(farm, RenderSettings(frames="1-2"), whole, proves=job_id)
        proof = await until_ended(farm, proof_id)
    assert (proof.state, proof.frames.done, proof.error) == (JobState.DONE, 2, "")
    with farm.store.read() as connection:
        assert proofs.counts(connection, [job_id, proof_id]) == {job_id: (2, 1), proof_id: (0, 0)}
    told = [event for event in events.after(farm, LOCAL_OWNER, 0, job_id) if event.kind == "frame.verified"]
    assert sorted((event.data["frame"], event.data["exact"], event.data["by_job"]) for event in told) == [
        (1, True, proof_id),
        (2, False, proof_id),
    ]
    finishes = {order.task: order.attempt_id for order in orders(cluster, TaskKind.FINISH)}
    for order in orders(cluster, TaskKind.VERIFY):
        assert order.claim is not None
        frame = order.task.split("/")[1]
        assert order.claim.digests == {"ViewLayer.Combined": finishes[f"{job_id}/{frame}/finish"]}
        assert [file.name for file in order.claim.outputs] == [f"{job_id}-{frame}-finish"]


async def test_nobody_of_the_class_of_a_frame_is_a_reason_that_is_told(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farm.dispatch.anew.CLASS_PATIENCE", 0.5)
    job_id = submit(farm, frames="1", tiles="2x1")
    async with dispatching(farm, ScriptedCluster(1)):
        await until_ended(farm, job_id)
    other = ScriptedCluster(1, partial(obedient, render_class=SSE))
    other.render_class = SSE
    whole = Plan(frames="1", width=640, height=360, reason="1 frame, verified")
    proof_id = made_of(farm, RenderSettings(frames="1"), whole, proves=job_id)
    async with dispatching(farm, other):
        proof = await until_ended(farm, proof_id)
    assert proof.state is JobState.FAILED
    assert f"No worker of this farm is {AVX2}" in proof.error


async def test_added_samples_are_merged_with_those_of_the_earlier_job(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farm.dispatch.policy.AHEAD", 4)  # so that it looks ahead more than once
    cluster = ScriptedCluster(2)
    job_id = submit(farm, frames="1-9", samples=64, first=16)
    async with dispatching(farm, cluster):
        await until_ended(farm, job_id)
        more = RenderSettings(frames="1-9", samples=64)
        added_id = made_of(farm, more, adds_to=job_id)
        added = await until_ended(farm, added_id)
    assert (added.state, added.frames.done) == (JobState.DONE, 9)
    finishes = [o for o in orders(cluster, TaskKind.FINISH) if o.task.startswith(added_id)]
    assert len(finishes) == 9
    for order in finishes:
        frame = int(order.task.split("/")[1])
        assert [piece.key.split("/")[1:4:2] for piece in order.pieces] == [
            [job_id, f"{frame:04d}"],
            [added_id, f"{frame:04d}"],
        ]
    with farm.store.read() as connection:
        [row] = job_rows.by_id(connection, [added_id])
        there = load_job(connection, row).there
    assert added.plan is not None
    assert there == added.plan.ranges[:1]
