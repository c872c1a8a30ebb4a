"""Records of frames, as rows and events."""

from __future__ import annotations

import json

from farm.dispatch import instructions as do
from farm.dispatch.page import Page
from farm.domain.events import EventKind
from farm.domain.plan import Recut
from farm.domain.states import TASK_ENDED, TaskState
from farm.store import frames, jobs, outputs, work


def opened(page: Page, record: do.FrameOpened) -> None:
    frames.open_frame(page.batch, record.job_id, record.frame)
    jobs.change(page.batch, record.job_id, opened=record.opened)


def changed(page: Page, record: do.FrameChanged) -> None:
    values: dict[str, object] = {
        "state": record.state.value,
        "finishing": int(record.finishing),
        "error": record.error,
    }
    if record.state in TASK_ENDED:
        values |= {"seconds": record.seconds, "ended": page.now}
    elif record.state is TaskState.RUNNING and not record.finishing:
        values["started"] = page.now
    frames.change(page.batch, record.job_id, record.frame, **values)
    data: dict[str, object] = {
        "frame": record.frame,
        "state": record.state,
        "finishing": record.finishing,
        "seconds": record.seconds,
    }
    page.tell(EventKind.FRAME_STATE, record.job_id, data)


def class_settled(page: Page, record: do.ClassSettled) -> None:
    settled = record.render_class.text
    frames.change(page.batch, record.job_id, record.frame, render_class=settled)


def recut(page: Page, record: do.FrameRecut) -> None:
    frames.change(page.batch, record.job_id, record.frame, recuts=_recuts(record.recuts))
    data: dict[str, object] = {"frame": record.frame, "why": record.why}
    page.tell(EventKind.FRAME_RECUT, record.job_id, data)


def anew(page: Page, record: do.FrameAnew) -> None:
    job_id, frame = record.job_id, record.frame
    page.doomed += page.read(lambda connection: outputs.drop_pieces(connection, job_id, frame))
    page.read(lambda connection: work.drop_results(connection, job_id, frame))
    frames.change(
        page.batch,
        job_id,
        frame,
        state=TaskState.WAITING.value,
        finishing=0,
        render_class=None,
        started=None,
        ended=None,
        error=record.why,
        recuts=_recuts(record.recuts),
        device=None if record.device is None else record.device.value,
    )
    data: dict[str, object] = {"frame": frame, "state": TaskState.WAITING, "why": record.why}
    page.tell(EventKind.FRAME_STATE, job_id, data | {"finishing": False, "seconds": None})


def pieces_anew(page: Page, record: do.PiecesAnew) -> None:
    job_id, frame, pieces = record.job_id, record.frame, record.pieces
    page.doomed += page.read(lambda connection: outputs.drop_pieces(connection, job_id, frame, pieces))
    page.read(lambda connection: work.drop_results(connection, job_id, frame, pieces))
    frames.change(page.batch, job_id, frame, finishing=0, error=record.why)
    data: dict[str, object] = {"frame": frame, "state": TaskState.RUNNING, "why": record.why}
    page.tell(EventKind.FRAME_STATE, job_id, data | {"finishing": False, "seconds": None})


def pieces_dropped(page: Page, record: do.PiecesDropped) -> None:
    job_id, frame = record.job_id, record.frame
    page.doomed += page.read(lambda connection: outputs.drop_pieces(connection, job_id, frame))


def _recuts(recuts: tuple[Recut, ...]) -> str | None:
    return json.dumps([recut.model_dump(mode="json") for recut in recuts]) if recuts else None
