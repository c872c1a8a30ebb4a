"""Records of tasks and their attempts, as rows and events."""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch.page import Page
from farm.domain.events import EventKind
from farm.domain.states import AttemptState
from farm.domain.work import Result, Role
from farm.store import outputs, work

_STORED_ELSEWHERE = {"files", "report", "proof"}


def changed(page: Page, record: do.TaskChanged) -> None:
    key = record.key
    work.change_task(
        page.batch,
        key,
        state=record.state.value,
        failures=record.failures,
        losses=record.losses,
        renders=record.renders,
    )
    if key.tile is not None:
        data: dict[str, object] = {"frame": key.frame, "tile": key.tile, "state": record.state}
        page.tell(EventKind.TILE_STATE, key.job_id, data, passing=str(key))


def resumed(page: Page, record: do.AttemptResumed) -> None:
    running = AttemptState.RUNNING.value
    work.change_attempt(page.batch, record.attempt_id, state=running, ended=None, failure=None)


def progressed(page: Page, record: do.AttemptProgressed) -> None:
    key, progress = record.key, record.progress
    work.change_attempt(page.batch, record.attempt_id, progress=progress.model_dump_json())
    data: dict[str, object] = {
        "task": str(key),
        "attempt": record.attempt_id,
        "frame": key.frame,
        "tile": key.tile,
        "phase": progress.phase,
        "sample": progress.sample,
        "samples": progress.samples,
    }
    page.tell(EventKind.ATTEMPT_PROGRESS, key.job_id, data, passing=record.attempt_id)


def ended(page: Page, record: do.AttemptEnded) -> None:
    """The end of an attempt; the files of its result are committed with it."""
    result, failure = record.result, record.failure
    work.change_attempt(
        page.batch,
        record.attempt_id,
        state=record.state.value,
        ended=page.now,
        progress=None,
        result=result.model_dump_json(exclude=_STORED_ELSEWHERE) if result else None,
        failure=failure.model_dump_json(exclude=_STORED_ELSEWHERE) if failure else None,
    )
    if result is not None:
        _commit_files(page, record, result)
    if failure is not None:
        for file in failure.files:
            outputs.add(page.batch, record.key, record.attempt_id, file)
        data: dict[str, object] = {
            "task": str(record.key),
            "words": record.key.words,
            "attempt": record.attempt_id,
            "worker": record.worker_id,
            "cause": failure.cause,
            "what": failure.what,
            "cure": failure.cure,
            "retry": record.retry,
        }
        page.tell(EventKind.ATTEMPT_FAILED, record.key.job_id, data)


def _commit_files(page: Page, record: do.AttemptEnded, result: Result) -> None:
    key = record.key
    for file in result.files:
        number = outputs.add(page.batch, key, record.attempt_id, file, result.render_class)
        if file.role in (Role.LOG, Role.PIECE):
            continue
        data: dict[str, object] = {
            "frame": key.frame,
            "tile": key.tile,
            "output_id": number,
            "role": file.role,
            "name": file.name,
            "bytes": file.blob.bytes,
            "sha256": file.blob.sha256,
        }
        page.tell(EventKind.OUTPUT_COMMITTED, key.job_id, data)
