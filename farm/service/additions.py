"""Adding samples to a job that kept its pieces: when that can be, and what stands against it."""

from __future__ import annotations

from farm.domain.errors import BadInput, Conflict
from farm.domain.frames import FrameRange
from farm.domain.job import JobSpec, keeps_pieces
from farm.domain.states import JOB_ENDED, JobState, TaskState
from farm.service.describe import found
from farm.store import Connection, frames
from farm.store.jobs import JobRow

#: What an addition may change of the settings; all else would make the samples parts of another picture.
_MAY_CHANGE = {"samples", "first", "frames"}


def check(connection: Connection, spec: JobSpec) -> None:
    """Raise where ``spec`` cannot add to the job that it names.

    `NotFound` without that job, `Conflict` where not all of its frames are done, `BadInput` for all that
    could not be merged: another scene, other settings, frames or samples that are not there or are already.
    """
    if spec.adds_to is None:
        return
    kept = found(connection, spec.adds_to)
    anew = f"Render all samples anew with: farm rerender {kept.id}"
    if kept.state not in JOB_ENDED:
        raise Conflict(
            f"Job {kept.id} has not ended yet: it is {kept.state}.",
            f"Add samples once it is done. Wait for that with: farm watch {kept.id}",
        )
    if kept.state is not JobState.DONE and not _all_frames_done(connection, kept):
        raise Conflict(f"Job {kept.id} is {kept.state}: not all of its samples are there.", anew)
    keeps = keeps_pieces(kept.settings, kept.adds_to)
    if kept.plan is None or kept.report is None or not kept.plan.ranges or not keeps:
        raise BadInput(
            f"Job {kept.id} did not keep its samples; only jobs with --first do, and those that add to them.",
            anew,
        )
    if spec.scene_id != kept.scene_id:
        raise BadInput(
            f"Job {kept.id} rendered another scene: samples of two scenes are no picture.",
            "Submit this scene as a job of its own.",
        )
    _check_settings(spec, kept)
    _check_frames(spec, kept)
    there = sum(part.count for part in kept.plan.ranges)
    wanted = spec.settings.first or spec.settings.samples or kept.report.samples
    if wanted <= there:
        raise BadInput(
            f"Job {kept.id} has {there} samples already, and {wanted} were asked for.",
            f"Ask for more than {there} with --samples.",
        )


def _all_frames_done(connection: Connection, job: JobRow) -> bool:
    """So it is of a job that came to nothing only because its movie could not be made."""
    done = frames.counts(connection, {job.id: job.opened})[job.id].get(TaskState.DONE, 0)
    return job.plan is not None and done == len(job.plan.frame_range)


def _check_settings(spec: JobSpec, kept: JobRow) -> None:
    asked, had = spec.settings.model_dump(), kept.settings.model_dump()
    other = [name for name in asked if name not in _MAY_CHANGE and asked[name] != had[name]]
    if other:
        raise BadInput(
            f"Samples can only be added with the settings of job {kept.id}; {', '.join(other)} differ"
            + ("s." if len(other) == 1 else "."),
            "Leave them as they are, or submit a job of its own.",
        )


def _check_frames(spec: JobSpec, kept: JobRow) -> None:
    assert kept.plan is not None  # noqa: S101  checked by the caller
    assert kept.report is not None  # noqa: S101
    there = kept.plan.frame_range
    wanted = FrameRange.parse(spec.settings.frames) if spec.settings.frames else kept.report.frames
    strange = there.lacking(wanted)
    if strange is not None:
        raise BadInput(f"Job {kept.id} has no frame {strange} to add to.", f"Its frames are {there}.")
