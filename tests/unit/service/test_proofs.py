"""Verifying: which frames, when, and what there is to prove."""

from __future__ import annotations

import pytest

from farm.domain.errors import BadInput, Conflict, NotFound, UsageError
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.plan import Plan, SampleRange, Video
from farm.domain.states import JobState
from farm.domain.views import VerifyRequest
from farm.domain.work import Proof, Row
from farm.service import jobs, proofs
from farm.service.context import Farm
from farm.store import jobs as job_rows
from farm.store import proofs as rows
from tests.unit.dispatch.play import AVX2, report
from tests.unit.service.conftest import ended, keep, planned, submitted

ALL = VerifyRequest()


def test_a_verification_is_a_job_of_whole_frames_with_the_report_of_the_one_it_proves(
    farm: Farm,
) -> None:
    job_id = submitted(farm, RenderSettings(samples=64, tiles="3x2", keep_exr=True, video=True, scale=50))
    planned(farm, job_id, "3x2")
    plan = jobs.get(farm, LOCAL_OWNER, job_id).plan
    assert plan is not None
    keep(farm, job_id, plan.model_copy(update={"videos": (Video.PREVIEW,), "region": (8, 4, 100, 50)}))
    ended(farm, job_id, [3, 1, 2, 7])
    made = proofs.verify(farm, LOCAL_OWNER, job_id, ALL).job
    assert made is not None
    assert (made.proves, made.name, made.state) == (job_id, "proof of One", JobState.WAITING)
    assert made.report == report()
    assert made.settings == RenderSettings(frames="1-3,7", samples=64, tiles="none", scale=50)
    assert made.plan == Plan(
        frames="1-3,7",
        width=plan.width,
        height=plan.height,
        region=(8, 4, 100, 50),
        reason="4 frames, rendered whole by plain Blender and compared",
    )
    assert made.frames.total == 4
    assert jobs.get(farm, LOCAL_OWNER, made.id) == made


def test_only_the_frames_asked_for_are_verified(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, "2x1")
    ended(farm, job_id, [1, 2, 3])
    made = proofs.verify(farm, LOCAL_OWNER, job_id, VerifyRequest(frames="2")).job
    assert made is not None
    assert made.plan is not None
    assert (made.plan.frames, made.plan.reason[:8]) == ("2", "1 frame,")


def test_frames_that_were_never_cut_have_nothing_to_prove_and_make_no_job(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    ended(farm, job_id, [1])
    answer = proofs.verify(farm, LOCAL_OWNER, job_id, ALL)
    assert answer.job is None
    assert answer.reason == f"Nothing to prove: the frames of job {job_id} were never cut."
    assert len(jobs.listed(farm, LOCAL_OWNER)) == 1


def test_a_job_that_has_not_ended_or_was_never_planned_is_a_conflict(farm: Farm, job_id: str) -> None:
    with pytest.raises(Conflict, match="has not ended yet: it is waiting"):
        proofs.verify(farm, LOCAL_OWNER, job_id, ALL)
    planned(farm, job_id, "2x1")
    with pytest.raises(Conflict, match="has not ended yet: it is rendering"):
        proofs.verify(farm, LOCAL_OWNER, job_id, ALL)
    other = submitted(farm)
    ended(farm, other, [], JobState.FAILED)
    with pytest.raises(Conflict, match="ended before its scene was read"):
        proofs.verify(farm, LOCAL_OWNER, other, ALL)


def test_of_a_cancelled_job_the_finished_frames_can_be_verified(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, "2x1")
    ended(farm, job_id, [1, 2], JobState.CANCELLED)
    made = proofs.verify(farm, LOCAL_OWNER, job_id, ALL).job
    assert made is not None
    assert made.settings.frames == "1-2"
    with pytest.raises(Conflict, match=r"Frame 3 of job \w+ is not done, nor are 2 more") as caught:
        proofs.verify(farm, LOCAL_OWNER, job_id, VerifyRequest(frames="1-5"))
    assert caught.value.cure


def test_a_job_without_a_finished_frame_is_a_conflict(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, "2x1")
    ended(farm, job_id, [], JobState.CANCELLED)
    with pytest.raises(Conflict, match="has no finished frame"):
        proofs.verify(farm, LOCAL_OWNER, job_id, ALL)


def test_frames_that_the_job_does_not_have_are_named(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, "2x1")
    ended(farm, job_id, [1])
    with pytest.raises(BadInput, match="has no frame 99") as caught:
        proofs.verify(farm, LOCAL_OWNER, job_id, VerifyRequest(frames="1,99"))
    assert caught.value.cure == "Its frames are 1-24."
    with pytest.raises(UsageError, match="is not a frame range"):
        VerifyRequest(frames="all")


@pytest.mark.parametrize("asked", [None, "1-3"])
def test_more_frames_than_are_verified_at_once_are_too_many(
    farm: Farm, job_id: str, asked: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "MOST_FRAMES", 2)
    planned(farm, job_id, "2x1")
    ended(farm, job_id, [1, 2, 3])
    with pytest.raises(BadInput, match="3 frames are more than the 2") as caught:
        proofs.verify(farm, LOCAL_OWNER, job_id, VerifyRequest(frames=asked))
    assert "--frames" in caught.value.cure


def test_of_a_million_frames_the_few_that_are_done_can_be_verified(farm: Farm, job_id: str) -> None:
    keep(farm, job_id, Plan(frames="1-1000000", width=64, height=36, grid="2x2", reason=""))
    ended(farm, job_id, [1, 2], JobState.CANCELLED)
    made = proofs.verify(farm, LOCAL_OWNER, job_id, ALL).job
    assert made is not None
    assert made.settings.frames == "1-2"


@pytest.mark.parametrize(
    ("ranges", "what"),
    [
        ([SampleRange(first=0, count=128, total=512)], "hold 128 of 512 samples so far"),
        (
            [SampleRange(first=0, count=64, total=64), SampleRange(first=0, count=64, total=64, seed=1)],
            "average independent samples",
        ),
    ],
)
def test_frames_that_no_single_render_equals_cannot_be_verified(
    farm: Farm, job_id: str, ranges: list[SampleRange], what: str
) -> None:
    keep(farm, job_id, Plan(frames="1", width=64, height=36, ranges=tuple(ranges), reason=""))
    ended(farm, job_id, [1])
    with pytest.raises(BadInput, match=what) as caught:
        proofs.verify(farm, LOCAL_OWNER, job_id, ALL)
    assert f"farm rerender {job_id}" in caught.value.cure


def test_all_samples_of_a_total_can_be_verified(farm: Farm, job_id: str) -> None:
    ranges = tuple(SampleRange(first=first, count=32, total=64) for first in (0, 32))
    keep(farm, job_id, Plan(frames="1", width=64, height=36, ranges=ranges, reason=""))
    ended(farm, job_id, [1])
    assert proofs.verify(farm, LOCAL_OWNER, job_id, ALL).job is not None


def test_a_proof_is_not_proved_nor_submitted(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, "2x1")
    ended(farm, job_id, [1])
    made = proofs.verify(farm, LOCAL_OWNER, job_id, ALL).job
    assert made is not None
    with pytest.raises(BadInput, match="is itself the proof of") as caught:
        proofs.verify(farm, LOCAL_OWNER, made.id, ALL)
    assert caught.value.cure.endswith(f"farm verify {job_id}")
    with pytest.raises(UsageError, match="cannot be submitted"):
        jobs.submit(farm, LOCAL_OWNER, JobSpec(name="x", scene_id=made.scene_id, proves=job_id))


def test_proofs_are_told_of_the_job_and_of_the_verification_that_made_them(farm: Farm, job_id: str) -> None:
    for call in (
        lambda: proofs.verify(farm, LOCAL_OWNER, "nope", ALL),
        lambda: proofs.listed(farm, LOCAL_OWNER, "nope", 0, 1),
        lambda: proofs.of_frame(farm, LOCAL_OWNER, "nope", 1),
    ):
        with pytest.raises(NotFound):
            call()
    planned(farm, job_id, "2x1")
    ended(farm, job_id, [1, 2, 3])
    made = [proofs.verify(farm, LOCAL_OWNER, job_id, ALL).job for _ in range(2)]
    first, second = (job.id for job in made if job is not None)
    with farm.store.write() as connection:
        for frame, by in ((1, first), (2, second), (3, first)):
            row = Row(kind="pass", name="ViewLayer.Depth", same=frame != 3)
            rows.put(connection, job_id, by, Proof(frame=frame, render_class=AVX2, rows=(row,)), 5.0)

    def told(of: str, first: int = 0, count: int = 9, worst_first: bool = False) -> list[tuple[int, str]]:
        found = proofs.listed(farm, LOCAL_OWNER, of, first, count, worst_first)
        return [(view.frame, view.by_job) for view in found]

    assert told(job_id) == [(1, first), (2, second), (3, first)]
    assert told(job_id, 1, 1) == [(2, second)]
    assert told(job_id, worst_first=True) == [(3, first), (1, first), (2, second)]
    assert told(first) == [(1, first), (3, first)]
    assert told(second) == [(2, second)]
    one = proofs.of_frame(farm, LOCAL_OWNER, job_id, 3)
    assert one is not None
    assert (one.time, one.proof.exact) == (5.0, False)
    assert proofs.of_frame(farm, LOCAL_OWNER, job_id, 9) is None
    counted = {job.id: (job.verified, job.differing) for job in jobs.listed(farm, LOCAL_OWNER)}
    assert counted == {job_id: (3, 1), first: (2, 1), second: (1, 0)}


def test_a_job_without_proofs_has_verified_nothing(farm: Farm, job_id: str) -> None:
    job = jobs.get(farm, LOCAL_OWNER, job_id)
    assert (job.verified, job.differing, job.proves, job.adds_to, job.videos) == (0, 0, None, None, ())
    with farm.store.read() as connection:
        row = job_rows.get(connection, job_id)
    assert row is not None
    assert row.proves is None
