"""What a worker makes of an order to verify a frame, with fake children."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from farm.domain.plan import Plan, SampleRange
from farm.domain.scene import Blob, SceneManifest
from farm.domain.work import Claim, Proof, StoredFile
from tests.integration.workers.conftest import PLAN, Bench
from tests.processes import family

SHOT = "shot_0001.png"


async def claimed(bench: Bench, scene: SceneManifest, **changes: Any) -> Claim:
    """The claim for frame 1, rendered whole by the fake."""
    whole = await bench.result("job/1/whole", scene)
    outputs = [file for file in whole["files"] if file["role"] == "output"]
    claim = Claim(job_id="job", plan=PLAN, render_class=whole["render_class"], outputs=tuple(outputs))
    return claim.model_copy(update=changes)


async def verify(bench: Bench, scene: SceneManifest, claim: Claim | None) -> dict[str, Any]:
    order = bench.order("proof/1/verify", scene)
    await bench.worker.start(order | {"claim": claim.model_dump(mode="json") if claim else None})
    return await bench.end()


async def proof_of(bench: Bench, scene: SceneManifest, claim: Claim) -> Proof:
    report = await verify(bench, scene, claim)
    assert report["failure"] is None, report["failure"]
    return Proof.model_validate(report["result"]["proof"])


async def failed(bench: Bench, scene: SceneManifest, claim: Claim | None) -> tuple[str, str]:
    failure = (await verify(bench, scene, claim))["failure"]
    assert failure is not None
    return failure["cause"], failure["what"]


def told(proof: Proof) -> list[tuple[str, str, bool, str]]:
    return [(row.kind, row.name, row.same, row.note) for row in proof.rows if row.kind == "output"]


async def test_a_frame_is_rendered_again_and_compared(bench: Bench) -> None:
    scene = bench.scene()
    claim = await claimed(bench, scene)
    report = await verify(bench, scene, claim)
    proof = Proof.model_validate(report["result"]["proof"])
    assert told(proof) == [("output", SHOT, True, "")]
    assert (proof.frame, proof.tolerance, proof.seconds) == (1, 0.0, 0.02)
    assert proof.render_class == claim.render_class
    assert report["result"]["render_class"] == claim.render_class.model_dump()
    assert [file for file in report["result"]["files"] if file["role"] != "log"] == []


async def test_the_reference_process_ends_with_its_frame(bench: Bench) -> None:
    scene = bench.scene()
    claim = await claimed(bench, scene)
    before = family()
    await proof_of(bench, scene, claim)
    assert len(family() - before) <= 1  # an imaging process may stay; the warm render process did
    assert before <= family()


async def test_what_differs_is_the_proofs_outcome_and_no_failure(bench: Bench) -> None:
    scene = bench.scene("compareimages = differ")
    proof = await proof_of(bench, scene, await claimed(bench, scene))
    assert not proof.exact
    assert told(proof) == [("output", SHOT, False, "")]


async def test_a_file_that_blender_does_not_write_is_named(bench: Bench) -> None:
    scene = bench.scene("renderreference = nothing")
    proof = await proof_of(bench, scene, await claimed(bench, scene))
    assert told(proof) == [("output", SHOT, False, "Blender writes no such file")]


async def test_a_file_that_the_farm_never_wrote_is_named(bench: Bench) -> None:
    scene = bench.scene()
    proof = await proof_of(bench, scene, await claimed(bench, scene, outputs=()))
    assert told(proof) == [("output", SHOT, False, "the farm wrote no such file")]


async def test_a_stored_file_that_is_gone_or_another_is_named(bench: Bench) -> None:
    scene = bench.scene()
    claim = await claimed(bench, scene)
    [shot] = claim.outputs
    bench.storage.put_stream(shot.key, [b"something else"])
    proof = await proof_of(bench, scene, claim)
    words = "what lies in storage is not what was stored: its SHA-256 differs"
    assert told(proof) == [("output", SHOT, False, words)]
    bench.storage.delete([shot.key])
    proof = await proof_of(bench, scene, claim)
    assert told(proof) == [("output", SHOT, False, "the farm no longer has this file")]


async def test_kept_passes_that_are_gone_are_named(bench: Bench) -> None:
    scene = bench.scene()
    gone = StoredFile(role="exr", name="exr/0001.exr", key="jobs/gone", blob=Blob(sha256="0" * 64, bytes=1))
    proof = await proof_of(bench, scene, await claimed(bench, scene, exr=gone))
    rows = [(row.name, row.same, row.note) for row in proof.rows if row.kind == "pass"]
    assert rows == [("exr/0001.exr", False, "the farm no longer has this file")]


async def test_a_worker_of_another_class_cannot_prove_anything(bench: Bench) -> None:
    scene = bench.scene()
    claim = await claimed(bench, scene)
    other = claim.render_class.model_copy(update={"kernel": "sse42"})
    cause, what = await failed(bench, scene, claim.model_copy(update={"render_class": other}))
    assert cause == "wrong-class"
    assert (
        "was rendered with Blender 5.2.3 fake, CPU sse42; this worker has Blender 5.2.3 fake, CPU avx2"
        in what
    )


async def test_an_order_without_a_claim_is_a_fault(bench: Bench) -> None:
    cause, what = await failed(bench, bench.scene(), None)
    assert (cause, what) == ("internal", "There is nothing to verify frame 1 against.")


def ranged(*ranges: tuple[int, int, int, int]) -> Plan:
    parts = [SampleRange(first=a, count=b, total=c, seed=d) for a, b, c, d in ranges]
    return PLAN.model_copy(update={"ranges": tuple(parts)})


@pytest.mark.parametrize(
    ("ranges", "tolerance"),
    [
        ([(0, 2, 4, 0), (2, 2, 4, 0)], 1e-6),
        ([(2, 2, 4, 0), (0, 2, 4, 0)], 1e-6),
        ([(0, 2, 4, 0)], 0.0),  # the first of a total: one range is no average
    ],
)
async def test_a_frame_cut_by_samples_is_held_to_what_averages_can_be(
    bench: Bench, ranges: list[tuple[int, int, int, int]], tolerance: float
) -> None:
    scene = bench.scene()
    proof = await proof_of(bench, scene, await claimed(bench, scene, plan=ranged(*ranges)))
    assert proof.tolerance == tolerance


@pytest.mark.parametrize(
    "ranges", [[(0, 4, 4, 0), (0, 4, 4, 1)], [(0, 2, 4, 0), (2, 2, 8, 0)], [(2, 2, 4, 0)]]
)
async def test_an_average_of_pictures_of_their_own_has_no_single_render(
    bench: Bench, ranges: list[tuple[int, int, int, int]]
) -> None:
    scene = bench.scene()
    cause, what = await failed(bench, scene, await claimed(bench, scene, plan=ranged(*ranges)))
    assert cause == "bad-scene"
    assert what == "These frames average pictures of their own: no single render is the same."


async def test_a_gpu_is_held_to_the_tolerance_of_a_gpu(
    make_bench: Callable[..., Awaitable[Bench]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    bench = await make_bench()
    scene = bench.scene()
    proof = await proof_of(bench, scene, await claimed(bench, scene))
    assert proof.render_class.device == "OPTIX"
    assert proof.tolerance == 1e-4


async def test_a_reference_that_crashes_costs_the_attempt(bench: Bench) -> None:
    scene = bench.scene("renderreference = crash")
    cause, what = await failed(bench, scene, await claimed(bench, scene))
    assert cause == "crash"
    assert what.startswith("The reference process")
