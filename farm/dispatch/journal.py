"""Writes what the core decided: records into rows and events, in the caller's transaction."""

from __future__ import annotations

import json

from farm.dispatch import instructions as do
from farm.domain.events import EventKind
from farm.domain.states import JOB_ENDED, TASK_ENDED, AttemptState, TaskState
from farm.domain.work import Result, Role
from farm.store import Connection, aside, events, frames, jobs, outputs, proofs, work, workers


class Journal:
    """Carries records into one transaction; `doomed` are keys to delete once it is committed."""

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.doomed: list[str] = []

    def write(self, record: do.Record) -> None:
        """One record, with the events that tell of it."""
        match record:
            case do.JobChanged():
                self._job_changed(record)
            case do.JobInspected(job_id, report):
                jobs.change(self._connection, job_id, report=report.model_dump_json())
            case do.JobPlanned(job_id, plan):
                jobs.change(self._connection, job_id, started=self._now, plan=plan.model_dump_json())
                data: dict[str, object] = {"reason": plan.reason, "total": len(plan.frame_range)}
                self._tell(EventKind.JOB_PLANNED, job_id, data)
            case do.FrameOpened(job_id, frame, opened):
                frames.open_frame(self._connection, job_id, frame)
                jobs.change(self._connection, job_id, opened=opened)
            case do.FrameChanged():
                self._frame_changed(record)
            case do.ClassSettled(job_id, frame, render_class):
                frames.change(self._connection, job_id, frame, render_class=render_class.model_dump_json())
            case do.ControlSet(job_id, control):
                jobs.change(self._connection, job_id, control=control.model_dump_json())
                self._tell(EventKind.JOB_CONTROL, job_id, {"control": control.model_dump(mode="json")})
            case do.JobWaits(job_id, why):
                jobs.change(self._connection, job_id, waits=why)
                self._tell(EventKind.JOB_WAITS, job_id, {"why": why})
            case do.CostsMeasured(job_id, costs):
                jobs.change(self._connection, job_id, costs=costs.model_dump_json())
                self._tell(EventKind.JOB_COSTS, job_id, {"costs": costs.model_dump(mode="json")})
            case do.FrameRecut():
                self._frame_recut(record)
            case do.WorkerSetAside():
                aside.put(
                    self._connection, record.worker_id, record.job_id, record.why, record.probes, self._now
                )
            case do.FrameAnew():
                self._frame_anew(record)
            case do.PiecesAnew():
                self._pieces_anew(record)
            case do.FrameVerified(job_id, by_job, proof):
                proofs.put(self._connection, job_id, by_job, proof, self._now)
                told: dict[str, object] = {"frame": proof.frame, "exact": proof.exact, "by_job": by_job}
                self._tell(EventKind.FRAME_VERIFIED, job_id, told)
            case do.TaskOpened(key):
                work.open_task(self._connection, key)
            case do.TaskChanged():
                self._task_changed(record)
            case do.AttemptStarted(attempt_id, key, worker_id):
                work.start_attempt(self._connection, attempt_id, key, worker_id, self._now)
            case do.AttemptResumed(attempt_id, _, _):
                running = AttemptState.RUNNING.value
                work.change_attempt(self._connection, attempt_id, state=running, ended=None, failure=None)
            case do.AttemptProgressed():
                self._progressed(record)
            case do.AttemptEnded():
                self._attempt_ended(record)
            case do.PiecesDropped(job_id, frame):
                self.doomed += outputs.drop_pieces(self._connection, job_id, frame)
            case do.WorkerChanged():
                self._worker_changed(record)

    def _tell(self, kind: EventKind, job_id: str | None, data: dict[str, object]) -> None:
        events.append(self._connection, self._now, kind, job_id, data)

    def _job_changed(self, record: do.JobChanged) -> None:
        values: dict[str, object] = {"state": record.state.value, "error": record.error, "cure": record.cure}
        if record.state in JOB_ENDED:
            values["ended"] = self._now
        jobs.change(self._connection, record.job_id, **values)
        data: dict[str, object] = {"state": record.state, "error": record.error, "cure": record.cure}
        self._tell(EventKind.JOB_STATE, record.job_id, data)

    def _frame_changed(self, record: do.FrameChanged) -> None:
        values: dict[str, object] = {
            "state": record.state.value,
            "finishing": int(record.finishing),
            "error": record.error,
        }
        if record.state in TASK_ENDED:
            values |= {"seconds": record.seconds, "ended": self._now}
        elif record.state is TaskState.RUNNING and not record.finishing:
            values["started"] = self._now
        frames.change(self._connection, record.job_id, record.frame, **values)
        data: dict[str, object] = {
            "frame": record.frame,
            "state": record.state,
            "finishing": record.finishing,
            "seconds": record.seconds,
        }
        self._tell(EventKind.FRAME_STATE, record.job_id, data)

    def _frame_recut(self, record: do.FrameRecut) -> None:
        recuts = json.dumps([recut.model_dump(mode="json") for recut in record.recuts])
        frames.change(self._connection, record.job_id, record.frame, recuts=recuts)
        data: dict[str, object] = {"frame": record.frame, "why": record.why}
        self._tell(EventKind.FRAME_RECUT, record.job_id, data)

    def _frame_anew(self, record: do.FrameAnew) -> None:
        self.doomed += outputs.drop_pieces(self._connection, record.job_id, record.frame)
        work.drop_results(self._connection, record.job_id, record.frame)
        frames.change(
            self._connection,
            record.job_id,
            record.frame,
            state=TaskState.WAITING.value,
            finishing=0,
            render_class=None,
            started=None,
            error=record.why,
            device=None if record.device is None else record.device.value,
        )
        data: dict[str, object] = {"frame": record.frame, "state": TaskState.WAITING, "why": record.why}
        self._tell(EventKind.FRAME_STATE, record.job_id, data | {"finishing": False, "seconds": None})

    def _pieces_anew(self, record: do.PiecesAnew) -> None:
        job_id, frame = record.job_id, record.frame
        self.doomed += outputs.drop_pieces(self._connection, job_id, frame, record.pieces)
        work.drop_results(self._connection, job_id, frame, record.pieces)
        frames.change(self._connection, job_id, frame, finishing=0, error=record.why)
        data: dict[str, object] = {"frame": frame, "state": TaskState.RUNNING, "why": record.why}
        self._tell(EventKind.FRAME_STATE, job_id, data | {"finishing": False, "seconds": None})

    def _task_changed(self, record: do.TaskChanged) -> None:
        key = record.key
        work.change_task(
            self._connection,
            key,
            state=record.state.value,
            failures=record.failures,
            losses=record.losses,
            renders=record.renders,
        )
        if key.tile is not None:
            data: dict[str, object] = {"frame": key.frame, "tile": key.tile, "state": record.state}
            self._tell(EventKind.TILE_STATE, key.job_id, data)

    def _progressed(self, record: do.AttemptProgressed) -> None:
        key, progress = record.key, record.progress
        work.change_attempt(self._connection, record.attempt_id, progress=progress.model_dump_json())
        data: dict[str, object] = {
            "task": str(key),
            "attempt": record.attempt_id,
            "frame": key.frame,
            "tile": key.tile,
            "phase": progress.phase,
            "sample": progress.sample,
            "samples": progress.samples,
        }
        self._tell(EventKind.ATTEMPT_PROGRESS, key.job_id, data)

    def _attempt_ended(self, record: do.AttemptEnded) -> None:
        result, failure = record.result, record.failure
        stored_elsewhere = {"files": (), "report": None, "proof": None}
        bare_result = result.model_copy(update=stored_elsewhere) if result else None
        bare_failure = failure.model_copy(update={"files": ()}) if failure else None
        work.change_attempt(
            self._connection,
            record.attempt_id,
            state=record.state.value,
            ended=self._now,
            progress=None,
            result=bare_result.model_dump_json() if bare_result else None,
            failure=bare_failure.model_dump_json() if bare_failure else None,
        )
        if result is not None:
            self._commit_files(record, result)
        if failure is not None:
            for file in failure.files:
                outputs.add(self._connection, record.key, record.attempt_id, file)
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
            self._tell(EventKind.ATTEMPT_FAILED, record.key.job_id, data)

    def _commit_files(self, record: do.AttemptEnded, result: Result) -> None:
        key = record.key
        for file in result.files:
            number = outputs.add(self._connection, key, record.attempt_id, file, result.render_class)
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
            self._tell(EventKind.OUTPUT_COMMITTED, key.job_id, data)

    def _worker_changed(self, record: do.WorkerChanged) -> None:
        if record.info is None:
            workers.drop(self._connection, record.worker_id)
            state = "lost"
        else:
            state = "busy" if record.attempt_id else "idle"
            workers.put(self._connection, record.info, state, record.attempt_id, self._now)
        self._tell(EventKind.WORKER_STATE, None, {"worker": record.worker_id, "state": state})
