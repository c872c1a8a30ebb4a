"""Rendering a job again with changed settings: what to submit, and what comes of it in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from farm.domain.control import Control
from farm.domain.errors import BadInput
from farm.domain.job import JobSpec, RenderSettings, keeps_pieces
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.tiles import TileGrid
from farm.domain.views import JobView


@dataclass(frozen=True, slots=True)
class Again:
    """A job to submit; ``what`` says exactly what it will do, as a part of a sentence."""

    spec: JobSpec
    what: str


def again(
    job: JobView,
    samples: int | None = None,
    frames: str | None = None,
    tiles: str | None = None,
    priority: int | None = None,
) -> Again:
    """``job`` once more, with what is not None changed. Its priority and its needs stay, its start and
    what it waited for do not: their time is over.

    A job that kept its samples (one with ``first``, or one that added to such) gets the lacking ones
    added where more ``samples`` are asked for. Raises `BadInput` for a proof, and `UsageError` for
    settings that cannot be read.
    """
    if job.proves is not None:
        raise BadInput(
            f"Job {job.id} is the proof of job {job.proves}, not a render.",
            f"Verify once more with: farm verify {job.proves}",
        )
    control = _control(job.control, priority)
    there = kept(job)
    if samples is not None and tiles is None and there < samples and there:
        return _added(job, samples, frames or (job.plan.frames if job.plan else None), there, control)
    changes: dict[str, Any] = {"samples": samples, "frames": frames, "tiles": tiles}
    changes = {name: value for name, value in changes.items() if value is not None}
    if tiles is not None and tiles not in ("auto", "none") and len(TileGrid.parse(tiles)) > 1:
        changes |= {"split": "tiles", "first": None}
    if samples is not None and job.settings.first is not None and job.settings.first >= samples:
        changes["first"] = None
    settings = _changed(job.settings, changes)
    spec = JobSpec(name=job.name, scene_id=job.scene_id, settings=settings, control=control)
    return Again(spec, _anew(job, settings))


def _control(had: Control, priority: int | None) -> Control:
    asked = {} if priority is None else {"priority": priority}
    gone = {"paused": False, "start": None, "after": (), "frame_wise": False}
    return Control.model_validate(had.model_dump() | gone | asked)


def kept(job: JobView) -> int:
    """Samples of its frames that ``job`` keeps, or will have kept, for more to be added; 0: none."""
    if job.plan is None or not keeps_pieces(job.settings, job.adds_to):
        return 0
    all_done = job.state is JobState.DONE or job.frames.done == job.frames.total  # it may lack its movie
    if job.state in JOB_ENDED and not all_done:
        return 0
    return sum(part.count for part in job.plan.ranges)


def _added(job: JobView, samples: int, frames: str | None, there: int, control: Control) -> Again:
    assert job.plan is not None  # noqa: S101  it keeps samples
    ranges = job.plan.ranges
    total = ranges[0].total
    independent = samples > total or any(part.seed or part.total != total for part in ranges)
    if independent:
        changes: dict[str, Any] = {"samples": samples, "first": None}
        what = (
            f"averages independent samples with the {there} that are there: "
            f"not identical to a render with {samples} samples"
        )
    elif samples < total:
        changes = {"samples": total, "first": samples}
        what = f"adds samples {there + 1}–{samples} of {total} to what is there"
    else:
        changes = {"samples": total, "first": None}
        what = f"adds samples {there + 1}–{total} to what is there: {_equal(job, total)}"
    settings = _changed(job.settings, changes | {"frames": frames})
    spec = JobSpec(name=job.name, scene_id=job.scene_id, settings=settings, control=control, adds_to=job.id)
    return Again(spec, what)


def _equal(job: JobView, total: int) -> str:
    why = job.report.breaks_ranges if job.report is not None else ()
    if not why:
        return f"equal to a render with {total} samples, within 1e-6"
    return f"may differ from a render with {total} samples: {why[0].what.rstrip('.')}"


def _anew(job: JobView, settings: RenderSettings) -> str:
    total = settings.samples or (job.report.samples if job.report is not None else None)
    if settings.first is not None:
        return f"renders the first {settings.first} of {total or 'the scene’s'} samples anew"
    return f"renders all {total} samples anew" if total else "renders all samples of the scene anew"


def _changed(settings: RenderSettings, changes: dict[str, Any]) -> RenderSettings:
    return RenderSettings.model_validate(settings.model_dump() | changes)
