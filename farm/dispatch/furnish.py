"""What an order needs from the database at the moment it is sent, so that the core need not carry it.

A verification gets the claim that it is to check, an encoding the pictures of all frames: for a movie
of a million frames that is read once, when the movie is due.
"""

from __future__ import annotations

from collections.abc import Iterator

from farm.domain.plan import Plan, Video
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Claim, FramePicture, Order, Role
from farm.store import Connection, jobs, outputs, work


def furnish(connection: Connection, order: Order) -> Order:
    """The order as it is sent. What is not there any more is left out, and the worker says so."""
    key = TaskKey.parse(order.task)
    if order.kind is TaskKind.VERIFY and key.frame is not None:
        row = jobs.get(connection, key.job_id)
        if row is not None and row.proves is not None:
            return order.model_copy(update={"claim": _claim(connection, row.proves, key.frame)})
    if order.kind is TaskKind.ENCODE and order.plan is not None:
        pictures = tuple(_pictures(connection, key.job_id, order.plan))
        return order.model_copy(update={"pictures": pictures})
    return order


def needs_furnishing(order: Order) -> bool:
    """Whether `furnish` has anything to add."""
    return order.kind in (TaskKind.VERIFY, TaskKind.ENCODE)


def _claim(connection: Connection, job_id: str, frame: int) -> Claim | None:
    """What the farm says this frame is: the files and digests of the attempt that was committed."""
    row = jobs.get(connection, job_id)
    files = [file for file in outputs.of_frames(connection, job_id, [frame])[frame] if file.tile is None]
    made = [file for file in files if file.file.role is Role.OUTPUT]
    if row is None or row.plan is None or not made or made[-1].render_class is None:
        return None
    kept = [file.file for file in files if file.file.role is Role.EXR]
    [attempt] = work.attempts_by_id(connection, [made[-1].attempt_id])
    return Claim(
        job_id=job_id,
        plan=row.plan,
        render_class=made[-1].render_class,
        outputs=tuple(file.file for file in made),
        exr=kept[-1] if kept else None,
        digests={} if attempt.result is None else attempt.result.digests,
    )


def _pictures(connection: Connection, job_id: str, plan: Plan) -> Iterator[FramePicture]:
    """By frame: its own pictures for the scene's movie, then its preview for the preview movie.

    What a File Output node writes beside a frame may be among them, and each of several views is: the
    worker tells by the names. Files in folders are a node's.
    """
    roles = [role for video, role in _ROLES.items() if video in plan.videos]
    for row in outputs.of_whole_frames(connection, job_id, roles):
        if row.frame is not None and (row.file.role is Role.PREVIEW or "/" not in row.file.name):
            yield FramePicture(frame=row.frame, file=row.file)


_ROLES = {Video.SCENE: Role.OUTPUT, Video.PREVIEW: Role.PREVIEW}
