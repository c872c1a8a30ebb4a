"""farm rerender: a new job, and exactly what it will do."""

from __future__ import annotations

import pytest

from farm.domain.plan import SampleRange
from farm.domain.scene import Finding, Weight
from farm.domain.states import JobState
from tests.unit.cli.test_briefing import report

FIRST = [SampleRange(first=first, count=64, total=512) for first in (0, 64)]


@pytest.fixture
def first(cli, farm, blend) -> str:
    """A job of which the first 128 of 512 samples were rendered and kept."""
    job_id = cli("submit", blend, "--samples", 512, "--first", 128, "--camera", "Cam").out.strip()
    farm.plan(job_id, "1-3", report(), ranges=FIRST)
    farm.end(job_id)
    return job_id


@pytest.fixture
def whole(cli, farm, blend) -> str:
    """A job of whole frames with the scene's own 8 samples."""
    job_id = cli("submit", blend, "--tiles", "2x2").out.strip()
    farm.plan(job_id, "1-3", report())
    farm.end(job_id)
    return job_id


def test_the_other_samples_of_a_fixed_total_are_added(cli, farm, first):
    said = cli("rerender", first, "--samples", 512)
    assert (said.code, said.out) == (0, "job2\n")
    assert said.err == (
        "Job job2 adds samples 129–512 to what is there: equal to a render with 512 samples, within 1e-6.\n"
    )
    job = farm.jobs["job2"]
    assert (job.adds_to, job.scene_id, job.name) == (first, farm.jobs[first].scene_id, "shot ü")
    was = farm.jobs[first].settings
    assert job.settings == was.model_copy(update={"first": None, "frames": "1-3"})


def test_some_of_the_other_samples_leave_the_rest_for_later(cli, farm, first):
    said = cli("rerender", first, "--samples", 256, "--frames", 2)
    assert said.err == "Job job2 adds samples 129–256 of 512 to what is there.\n"
    settings = farm.jobs["job2"].settings
    assert (settings.samples, settings.first, settings.frames) == (512, 256, "2")


def test_beyond_the_total_independent_samples_are_averaged_and_said_not_to_be_identical(cli, farm, first):
    said = cli("rerender", first, "--samples", 1024, "--json")
    assert said.json == {
        "job": "job2",
        "state": "waiting",
        "scene": farm.jobs[first].scene_id,
        "of": first,
        "adds_to": first,
        "what": "averages independent samples with the 128 that are there: "
        "not identical to a render with 1024 samples",
    }
    assert said.err == ""
    assert (farm.jobs["job2"].settings.samples, farm.jobs["job2"].settings.first) == (1024, None)


def test_to_an_average_only_independent_samples_can_be_added(cli, farm, first):
    parts = [*FIRST, SampleRange(first=0, count=384, total=384, seed=1)]
    farm.change(first, plan=farm.jobs[first].plan.model_copy(update={"ranges": tuple(parts)}))
    assert "averages independent samples with the 512" in cli("rerender", first, "--samples", 600).err


def test_what_breaks_ranges_is_told_in_place_of_the_promise(cli, farm, first):
    adaptive = Finding(code="adaptive", weight=Weight.NOTE, what="Adaptive sampling looks around.")
    farm.change(first, report=report(breaks_ranges=(adaptive,)))
    assert cli("rerender", first, "--samples", 512).err.endswith(
        "may differ from a render with 512 samples: Adaptive sampling looks around.\n"
    )


def test_a_job_that_added_samples_keeps_them_for_more(cli, farm, first):
    cli("rerender", first, "--samples", 256)
    more = [*FIRST, SampleRange(first=128, count=128, total=512)]
    farm.plan("job2", "1-3", report(), ranges=more, taken=2)
    farm.end("job2")
    assert "adds samples 257–512" in cli("rerender", "job2", "--samples", 512).err
    assert farm.jobs["job3"].adds_to == "job2"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ([], "renders all 8 samples anew"),
        (["--samples", "64"], "renders all 64 samples anew"),
        (["--tiles", "4x4"], "renders all 8 samples anew"),
        (["--frames", "2"], "renders all 8 samples anew"),
    ],
)
def test_where_nothing_was_kept_all_is_rendered_anew(cli, farm, whole, options, what):
    said = cli("rerender", whole, *options)
    assert (said.code, said.err) == (0, f"Job job2 {what}.\n")
    assert farm.jobs["job2"].adds_to is None


def test_only_what_was_asked_for_changes(cli, farm, whole):
    cli("rerender", whole, "--samples", 64, "--frames", "2-3", "--tiles", "none")
    had = farm.jobs[whole].settings
    changed = {"samples": 64, "frames": "2-3", "tiles": "none"}
    assert farm.jobs["job2"].settings == had.model_copy(update=changed)


@pytest.mark.parametrize(
    ("options", "first_kept", "split"),
    [(["--samples", "100"], None, "tiles"), (["--tiles", "2x2"], None, "tiles"), ([], 128, "tiles")],
)
def test_what_cannot_be_added_is_rendered_anew_also_of_a_job_that_kept_samples(
    cli, farm, first, options, first_kept, split
):
    said = cli("rerender", first, *options)
    assert "anew" in said.err
    job = farm.jobs["job2"]
    assert (job.adds_to, job.settings.first, job.settings.split) == (None, first_kept, split)


def test_a_job_that_did_not_end_well_is_rendered_anew(cli, farm, first):
    farm.change(first, state=JobState.CANCELLED)
    assert "renders the first 128 of 1024 samples anew" in cli("rerender", first, "--samples", 1024).err
    assert farm.jobs["job2"].adds_to is None


def test_a_grid_takes_the_place_of_sample_ranges(cli, farm, blend):
    job_id = cli("submit", blend, "--split", "samples:4").out.strip()
    cli("rerender", job_id, "--tiles", "2x2")
    assert (farm.jobs["job2"].settings.split, farm.jobs["job2"].settings.tiles) == ("tiles", "2x2")
    assert "renders all samples of the scene anew" in cli("rerender", job_id).err


def test_a_proof_is_not_rendered_again(cli, farm, whole):
    farm.change(whole, proves="other")
    said = cli("rerender", whole)
    assert (said.code, said.out) == (1, "")
    assert said.err.endswith("Verify once more with: farm verify other\n")


@pytest.mark.parametrize("option", [["--frames", "all"], ["--tiles", "2by2"], ["--samples", "0"]])
def test_a_call_that_cannot_be_read_is_2_and_makes_no_job(cli, farm, whole, option):
    said = cli("rerender", whole, *option)
    assert said.code == 2
    assert len(farm.jobs) == 1


def test_a_job_whose_movie_alone_failed_has_kept_its_samples(cli, farm, first):
    for frame in (1, 2, 3):
        farm.finish(first, frame, {})
    farm.end(first, JobState.FAILED, "The movie could not be made.")
    assert "adds samples 129–512 to what is there" in cli("rerender", first, "--samples", 512).err
    assert farm.jobs["job2"].adds_to == first
