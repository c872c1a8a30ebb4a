from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain.errors import BadInput
from farm.domain.job import RenderSettings
from farm.domain.plan import Plan, SampleRange
from farm.domain.scene import Finding, Weight
from farm.planning import plan_job
from tests.unit.dispatch.play import report

ADAPTIVE = Finding(code="adaptive", weight=Weight.NOTE, what="Adaptive sampling thinks anew in each range.")
VOLUME = Finding(code="volume", weight=Weight.NOTE, what="It has a volume.")


def plan(there: tuple[SampleRange, ...] | None = None, workers: int = 4, **settings: object) -> Plan:
    values = {"frames": "7", "samples": 128} | settings
    return plan_job(RenderSettings.model_validate(values), report(), workers, there)


def spans(plan: Plan) -> list[tuple[int, int, int, int]]:
    """First, end, total and seed of each range."""
    return [(part.first, part.first + part.count, part.total, part.seed) for part in plan.ranges]


def test_each_worker_gets_a_range_of_the_samples() -> None:
    found = plan(split="samples")
    assert spans(found) == [(0, 32, 128, 0), (32, 64, 128, 0), (64, 96, 128, 0), (96, 128, 128, 0)]
    assert (found.grid, found.taken, found.exact, found.pieces_per_frame) == (None, 0, True, 4)
    assert found.reason == (
        "1 frame on 4 workers: each frame cut in 4 ranges of 32 samples, so that every worker has a piece"
        "; averaged within 1e-6 of rendering them at once"
    )


def test_a_range_is_not_made_of_fewer_than_sixteen_samples_unless_asked_for() -> None:
    assert len(plan(split="samples", samples=50).ranges) == 3
    assert len(plan(split="samples:4", samples=50).ranges) == 4
    few = plan(split="samples", samples=31)
    assert few.ranges == ()
    assert few.reason.endswith("whole frames: 31 samples are too few to cut")


def test_ranges_are_as_equal_as_they_can_be_and_say_so() -> None:
    found = plan(split="samples:3", samples=50)
    assert spans(found) == [(0, 16, 50, 0), (16, 33, 50, 0), (33, 50, 50, 0)]
    assert "cut in 3 ranges of 16 or 17 samples, as asked" in found.reason


def test_one_range_is_the_whole_frame() -> None:
    assert plan(split="samples:1").reason.endswith("whole frames, as asked")
    assert plan(split="samples", workers=1).ranges == ()


def test_without_samples_of_its_own_a_job_has_those_of_the_scene() -> None:
    assert spans(plan(split="samples:2", samples=None)) == [(0, 32, 64, 0), (32, 64, 64, 0)]


@given(st.integers(1, 4096), st.integers(1, 64))
def test_ranges_are_every_sample_exactly_once(samples: int, number: int) -> None:
    if number > samples:
        with pytest.raises(BadInput, match=f"{samples} samples cannot be cut in {number} ranges"):
            plan(split=f"samples:{number}", samples=samples)
        return
    found = spans(plan(split=f"samples:{number}", samples=samples))
    edges = found or [(0, samples, samples, 0)]
    assert (edges[0][0], edges[-1][1]) == (0, samples)
    assert all(before[1] == after[0] for before, after in pairwise(edges))
    counts = {end - first for first, end, _, _ in edges}
    assert max(counts) - min(counts) <= 1


def test_more_ranges_than_a_frame_may_have_pieces_are_refused() -> None:
    with pytest.raises(BadInput, match="cut in 4,096 at most"):
        plan(split="samples:5000", samples=10_000)


def test_ranges_that_break_exactness_are_labelled() -> None:
    scene = report(breaks_ranges=(ADAPTIVE,))
    cut = plan_job(RenderSettings(split="samples:2"), scene, 2)
    assert not cut.exact
    assert cut.reason.endswith("may differ from whole frames: Adaptive sampling thinks anew in each range.")
    assert plan_job(RenderSettings(tiles="2x1"), scene, 2).exact
    assert plan_job(RenderSettings(frames="1", first=16), scene, 2).exact  # one range is not merged


def test_a_scene_that_cannot_be_cut_stays_whole_and_says_why() -> None:
    scene = report(blocks_cutting=(VOLUME,))
    whole = plan_job(RenderSettings(split="samples"), scene, 2)
    assert (whole.ranges, whole.exact) == ((), True)
    assert whole.reason.endswith("whole frames, though sample ranges were asked for: It has a volume.")
    with pytest.raises(BadInput, match="cannot be rendered in part: It has a volume"):
        plan_job(RenderSettings(first=16), scene, 2)


# --- the first samples, and the others later -----------------------------------------------------


def test_the_first_samples_keep_the_total_that_they_are_of() -> None:
    found = plan(samples=512, first=128)
    assert spans(found) == [(0, 128, 512, 0)]
    assert (found.exact, found.taken) == (True, 0)
    assert found.reason == "1 frame on 4 workers: the first 128 of 512 samples"


def test_the_first_samples_can_be_cut_too() -> None:
    found = plan(samples=512, first=128, split="samples:2")
    assert spans(found) == [(0, 64, 512, 0), (64, 128, 512, 0)]
    assert "the first 128 of 512 samples, each frame cut in 2 ranges of 64 samples, as asked" in found.reason


def test_more_first_samples_than_there_are_is_refused_with_a_cure() -> None:
    with pytest.raises(
        BadInput, match="The first 65 samples were asked for, and the picture has 64"
    ) as caught:
        plan(samples=None, first=65)
    assert caught.value.cure == "Choose --first 64 at most, or more --samples."


FIRST = (SampleRange(first=0, count=64, total=512), SampleRange(first=64, count=64, total=512))


def test_samples_of_the_same_total_are_added_from_where_the_earlier_job_ended() -> None:
    found = plan(FIRST, samples=512)
    assert spans(found) == [(0, 64, 512, 0), (64, 128, 512, 0), (128, 512, 512, 0)]
    assert (found.taken, found.exact) == (2, True)
    assert found.reason == (
        "1 frame on 4 workers: 128 of 512 samples are there already, and 384 are added"
        "; averaged within 1e-6 of rendering them at once"
    )


def test_what_is_added_can_be_cut_and_can_be_a_part_again() -> None:
    assert spans(plan(FIRST, samples=512, split="samples:3"))[2:] == [
        (128, 256, 512, 0),
        (256, 384, 512, 0),
        (384, 512, 512, 0),
    ]
    assert spans(plan(FIRST, samples=512, first=256))[2:] == [(128, 256, 512, 0)]


def test_few_samples_are_added_in_as_many_ranges_as_they_can_be_cut_in() -> None:
    found = plan(FIRST, samples=512, first=130, split="samples:64")
    assert spans(found)[2:] == [(128, 129, 512, 0), (129, 130, 512, 0)]


def test_samples_of_another_total_are_independent_and_labelled() -> None:
    found = plan(FIRST, samples=1000)
    assert spans(found)[2:] == [(0, 872, 872, 1)]
    assert (found.taken, found.exact) == (2, False)
    assert found.reason == (
        "1 frame on 4 workers: 128 samples are there already, and 872 independent samples are added: "
        "not identical to a render with 1000 samples"
    )


def test_each_independent_addition_has_a_seed_of_its_own() -> None:
    there = (*FIRST, SampleRange(first=0, count=384, total=384, seed=1))
    found = plan(there, samples=512 + 100)
    assert spans(found)[3:] == [(0, 100, 100, 2)]
    assert not found.exact


def test_adding_what_is_there_already_is_refused() -> None:
    with pytest.raises(BadInput, match="128 samples are there already, and 100 were asked for"):
        plan(FIRST, samples=512, first=100)
    with pytest.raises(BadInput, match="128 samples are there already, and 128 were asked for"):
        plan(FIRST, samples=128)


def test_adding_to_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="kept no samples"):
        plan((), samples=128)


def test_what_is_denoised_is_within_a_millionth_before_that() -> None:
    settings = RenderSettings(frames="7", samples=128, split="samples:2")
    found = plan_job(settings, report().model_copy(update={"denoise": True}), 4)
    assert found.reason.endswith("; averaged within 1e-6 of rendering them at once, before denoising")
