"""Kinds of rows in the event table, the channel to page, CLI and add-on.

==================  =======================================================================
kind                data
==================  =======================================================================
job.state           state, error, cure
job.planned         reason, total
frame.state         frame, state (TaskState), finishing, seconds; why, where it begins anew
frame.verified      frame, exact (bool), by_job: told of the job whose frame was verified
tile.state          frame, tile, state
attempt.progress    task, attempt, frame, tile, phase, sample, samples (at most one a second)
attempt.failed      task, words, attempt, worker, cause, what, cure, retry (bool)
output.committed    frame, output_id, role, name, bytes, sha256
job.waits           why: for what it waits that cannot begin; empty: for nothing any more
job.control         control: how the job is dispatched from now on
job.costs           costs
frame.recut         frame, why: its plan was revised
worker.state        worker, state (idle, busy, away, aside, failed, lost), why (of all but idle and busy)
==================  =======================================================================
"""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    """What a row tells of; the table above says what its data holds."""

    JOB_STATE = "job.state"
    JOB_PLANNED = "job.planned"
    FRAME_STATE = "frame.state"
    FRAME_VERIFIED = "frame.verified"
    TILE_STATE = "tile.state"
    ATTEMPT_PROGRESS = "attempt.progress"
    ATTEMPT_FAILED = "attempt.failed"
    OUTPUT_COMMITTED = "output.committed"
    JOB_WAITS = "job.waits"
    JOB_CONTROL = "job.control"
    JOB_COSTS = "job.costs"
    FRAME_RECUT = "frame.recut"
    WORKER_STATE = "worker.state"
