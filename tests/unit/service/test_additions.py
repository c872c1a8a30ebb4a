"""Adding samples: only to what was kept, of the same picture, and more than is there."""

from __future__ import annotations

from typing import Any

import pytest

from farm.domain.errors import BadInput, Conflict, NotFound, TesseraError
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.plan import Plan, SampleRange
from farm.domain.scene import Blob, SceneManifest
from farm.domain.states import JobState
from farm.service import jobs, scenes
from farm.service.context import Farm
from tests.unit.service.conftest import DATA, SHA, ended, keep, submitted

KEPT = RenderSettings(frames="1-3", samples=512, first=128, scale=50)
RANGES = tuple(SampleRange(first=first, count=64, total=512) for first in (0, 64))


@pytest.fixture
def kept(farm: Farm) -> str:
    """A job that kept the first 128 of 512 samples of frames 1 to 3."""
    job_id = submitted(farm, KEPT)
    keep(farm, job_id, Plan(frames="1-3", width=64, height=36, ranges=RANGES, reason=""))
    ended(farm, job_id, [1, 2, 3])
    return job_id


def added(farm: Farm, to: str, scene_id: str | None = None, **settings: Any) -> JobSpec:
    asked = RenderSettings.model_validate(KEPT.model_dump() | {"first": None} | settings)
    known = jobs.listed(farm, LOCAL_OWNER)[0].scene_id
    return JobSpec(name="more", scene_id=scene_id or known, settings=asked, adds_to=to)


@pytest.mark.parametrize(
    "settings",
    [{}, {"frames": "2"}, {"first": 256}, {"samples": 1024}],
    ids=["the rest", "of one frame", "some of the rest", "beyond the total"],
)
def test_samples_are_added_to_a_job_that_kept_its_own(
    farm: Farm, kept: str, settings: dict[str, Any]
) -> None:
    job = jobs.submit(farm, LOCAL_OWNER, added(farm, kept, **settings))
    assert (job.adds_to, job.state) == (kept, JobState.WAITING)
    assert jobs.get(farm, LOCAL_OWNER, job.id).adds_to == kept


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"scale": 100}, "scale differs"),
        ({"camera": "B", "device": "cpu"}, "camera, device differ"),
        ({"frames": "2-5"}, "has no frame 4 to add to"),
        ({"frames": None}, "has no frame 4 to add to"),
        ({"samples": 128}, "has 128 samples already, and 128 were asked for"),
        ({"first": 100}, "has 128 samples already, and 100 were asked for"),
    ],
)
def test_what_would_be_another_picture_or_nothing_new_is_refused(
    farm: Farm, kept: str, settings: dict[str, Any], what: str
) -> None:
    with pytest.raises(BadInput, match=what) as caught:
        jobs.submit(farm, LOCAL_OWNER, added(farm, kept, **settings))
    assert caught.value.cure
    assert len(jobs.listed(farm, LOCAL_OWNER)) == 1


def refusal(farm: Farm, spec: JobSpec) -> TesseraError:
    with pytest.raises(TesseraError) as caught:
        jobs.submit(farm, LOCAL_OWNER, spec)
    return caught.value


def test_the_job_must_be_there_and_have_ended_well(farm: Farm, kept: str) -> None:
    assert isinstance(refusal(farm, added(farm, "nope")), NotFound)
    running = submitted(farm, KEPT)
    assert "has not ended yet" in refusal(farm, added(farm, running)).what
    keep(farm, running, Plan(frames="1-3", width=64, height=36, ranges=RANGES, reason=""))
    ended(farm, running, [1], JobState.CANCELLED)
    error = refusal(farm, added(farm, running))
    assert isinstance(error, Conflict)
    assert error.what == f"Job {running} is cancelled: not all of its samples are there."


def test_a_job_whose_movie_alone_failed_has_kept_its_samples(farm: Farm, kept: str) -> None:
    ended(farm, kept, [1, 2, 3], JobState.FAILED)
    assert jobs.submit(farm, LOCAL_OWNER, added(farm, kept)).adds_to == kept


@pytest.mark.parametrize(
    ("settings", "ranges"),
    [(KEPT.model_copy(update={"first": None}), RANGES), (KEPT, ())],
    ids=["all samples at once", "frames kept whole"],
)
def test_a_job_that_kept_no_samples_has_none_to_add_to(
    farm: Farm, settings: RenderSettings, ranges: tuple[SampleRange, ...]
) -> None:
    job_id = submitted(farm, settings)
    keep(farm, job_id, Plan(frames="1-3", width=64, height=36, ranges=ranges, reason=""))
    ended(farm, job_id, [1, 2, 3])
    error = refusal(farm, added(farm, job_id))
    assert "did not keep its samples" in error.what
    assert error.cure.endswith(f"farm rerender {job_id}")


def test_samples_of_another_scene_are_not_added(farm: Farm, kept: str) -> None:
    manifest = SceneManifest(main="b.blend", files={"b.blend": Blob(sha256=SHA, bytes=len(DATA))})
    other = scenes.register(farm, LOCAL_OWNER, manifest).scene_id
    assert "another scene" in refusal(farm, added(farm, kept, other)).what
