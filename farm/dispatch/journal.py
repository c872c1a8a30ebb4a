"""Writes what the core decided: records into rows and events, in the caller's transaction."""

from __future__ import annotations

from farm.dispatch import frame_records, task_records
from farm.dispatch import instructions as do
from farm.dispatch.page import Page
from farm.domain.events import EventKind
from farm.domain.states import JOB_ENDED
from farm.store import Connection, aside, jobs, proofs, work, workers


class Journal:
    """Carries the records of a turn into one transaction, as few statements.

    Nothing is written before `flush`. `doomed` are keys to delete once the transaction is committed.
    """

    def __init__(self, connection: Connection, now: float) -> None:
        self._page = Page(connection, now)

    @property
    def doomed(self) -> list[str]:
        return self._page.doomed

    def flush(self) -> None:
        """Write what was told so far."""
        self._page.flush()

    def write(self, record: do.Record) -> None:
        """One record, with the events that tell of it."""
        page, batch = self._page, self._page.batch
        told: dict[str, object]
        match record:
            case do.TaskChanged():
                task_records.changed(page, record)
            case do.AttemptStarted(attempt_id, key, worker_id):
                work.start_attempt(batch, attempt_id, key, worker_id, page.now)
            case do.AttemptProgressed():
                task_records.progressed(page, record)
            case do.AttemptEnded():
                task_records.ended(page, record)
            case do.AttemptResumed():
                task_records.resumed(page, record)
            case do.TaskOpened(key):
                work.open_task(batch, key)
            case do.WorkerChanged():
                _worker_changed(page, record)
            case do.WorkerFailed(worker_id, why):
                workers.failed(page.batch, worker_id, why, page.now)
                told = {"worker": worker_id, "state": "lost" if why is None else "failed", "why": why or ""}
                page.tell(EventKind.WORKER_STATE, None, told, passing=worker_id)
            case do.WorkerSetAside():
                _worker_set_aside(page, record)
            case do.FrameOpened():
                frame_records.opened(page, record)
            case do.FrameChanged():
                frame_records.changed(page, record)
            case do.ClassSettled():
                frame_records.class_settled(page, record)
            case do.FrameRecut():
                frame_records.recut(page, record)
            case do.FrameAnew():
                frame_records.anew(page, record)
            case do.PiecesAnew():
                frame_records.pieces_anew(page, record)
            case do.PiecesDropped():
                frame_records.pieces_dropped(page, record)
            case do.FrameVerified(job_id, by_job, proof):
                page.read(lambda connection: proofs.put(connection, job_id, by_job, proof, page.now))
                told = {"frame": proof.frame, "exact": proof.exact, "by_job": by_job}
                page.tell(EventKind.FRAME_VERIFIED, job_id, told)
            case do.JobChanged():
                _job_changed(page, record)
            case do.JobInspected(job_id, report):
                jobs.change(batch, job_id, report=report.model_dump_json())
            case do.JobPlanned(job_id, plan):
                jobs.change(batch, job_id, started=page.now, plan=plan.model_dump_json())
                data: dict[str, object] = {"reason": plan.reason, "total": len(plan.frame_range)}
                page.tell(EventKind.JOB_PLANNED, job_id, data)
            case do.ControlSet(job_id, control):
                jobs.change(batch, job_id, control=control.model_dump_json())
                page.tell(EventKind.JOB_CONTROL, job_id, {"control": control.model_dump(mode="json")})
            case do.JobWaits(job_id, why):
                jobs.change(batch, job_id, waits=why)
                page.tell(EventKind.JOB_WAITS, job_id, {"why": why}, passing=job_id)
            case do.CostsMeasured(job_id, costs):
                jobs.change(batch, job_id, costs=costs.model_dump_json())
                page.tell(EventKind.JOB_COSTS, job_id, {"costs": costs.model_dump(mode="json")}, job_id)


def _job_changed(page: Page, record: do.JobChanged) -> None:
    values: dict[str, object] = {"state": record.state.value, "error": record.error, "cure": record.cure}
    values["ended"] = page.now if record.state in JOB_ENDED else None
    jobs.change(page.batch, record.job_id, **values)
    data: dict[str, object] = {"state": record.state, "error": record.error, "cure": record.cure}
    page.tell(EventKind.JOB_STATE, record.job_id, data)


def _worker_changed(page: Page, record: do.WorkerChanged) -> None:
    data: dict[str, object] = {"worker": record.worker_id, "state": "lost"}
    if record.info is None:
        workers.drop(page.batch, record.worker_id)
    else:
        state = "busy" if record.attempt_id else "idle"
        workers.put(page.batch, record.info, state, record.attempt_id, page.now)
        away = record.info.away if state == "idle" else ""
        data |= {"state": "away", "why": away} if away else {"state": state}
    page.tell(EventKind.WORKER_STATE, None, data, passing=record.worker_id)


def _worker_set_aside(page: Page, record: do.WorkerSetAside) -> None:
    worker_id, job_id, why = record.worker_id, record.job_id, record.why
    page.read(lambda connection: aside.put(connection, worker_id, job_id, why, record.probes, page.now))
    if job_id is None:
        state = "idle" if why is None else "aside"
        data: dict[str, object] = {"worker": worker_id, "state": state, "why": why or ""}
        page.tell(EventKind.WORKER_STATE, None, data, passing=worker_id)
