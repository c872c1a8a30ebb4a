"""The order of an attempt, complete in itself."""

from __future__ import annotations

from farm.dispatch.covering import cover_of
from farm.dispatch.fitness import device_of
from farm.dispatch.patience import patience_for
from farm.dispatch.state import Frame, Job
from farm.domain import keys
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Order, PieceRef


def order_for(job: Job, key: TaskKey, frame: Frame | None, attempt_id: str) -> Order:
    """What a worker is told of one attempt at a task.

    What of it lies only in the database is put there when it is sent (`farm.dispatch.furnish`).
    """
    pieces: tuple[PieceRef, ...] = ()
    if frame is not None and key.kind is TaskKind.FINISH:
        pieces = tuple(frame.pieces[tile].ref for tile in sorted(cover_of(job, frame) or ()))
    device = device_of(job, frame)
    # The job's own where that will do: what is sent of it is made once for all its orders.
    own = device is job.settings.device
    return Order(
        attempt_id=attempt_id,
        task=str(key),
        kind=key.kind,
        scene_id=job.scene_id,
        manifest=job.manifest,
        settings=job.settings if own else job.settings.model_copy(update={"device": device}),
        prefix=keys.attempt_prefix(key, attempt_id),
        plan=job.plan if frame is None or job.plan is None else job.plan_of(frame),
        report=job.report,
        pieces=pieces,
        render_class=None if frame is None else frame.render_class,
        patience=patience_for(job, key),
    )
