"""What an order needs from the database at the moment it is sent, so that the core need not carry it.

A verification gets the claim that it is to check, an encoding the pictures of all frames: for a movie
of a million frames that is read once, when the movie is due.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath

from farm.domain.plan import Plan, Video
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Claim, FramePicture, Order, Role, StoredFile
from farm.store import Connection, jobs, outputs, work
from farm.store.outputs import OutputRow


def furnish(connection: Connection, order: Order) -> Order:
    """The order as it is sent. What is not there any more is left out, and the worker says so."""
    key = TaskKey.parse(order.task)
    if order.kind is TaskKind.VERIFY and key.frame is not None:
        row = jobs.get(connection, key.job_id)
        if row is not None and row.proves is not None:
            return order.model_copy(update={"claim": _claim(connection, row.proves, key.frame)})
    if order.kind is TaskKind.ENCODE and order.plan is not None:
        name = "" if order.report is None else order.report.output_name
        pictures = tuple(_pictures(connection, key.job_id, order.plan, name))
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


def _pictures(connection: Connection, job_id: str, plan: Plan, name: str) -> Iterator[FramePicture]:
    """By frame: its own picture for the scene's movie, then its preview for the preview movie."""
    roles = [role for video, role in _ROLES.items() if video in plan.videos]
    rows = outputs.of_whole_frames(connection, job_id, roles)
    for frame, of_frame in groupby(rows, key=lambda row: row.frame):
        if frame is not None:
            files = list(of_frame)
            for role in roles:
                if chosen := picture_of([row for row in files if row.file.role is role], name, frame):
                    yield FramePicture(frame=frame, file=chosen)


_ROLES = {Video.SCENE: Role.OUTPUT, Video.PREVIEW: Role.PREVIEW}


def picture_of(rows: Sequence[OutputRow], output_name: str, frame: int) -> StoredFile | None:
    """Of a frame's files the one that is the render; the others are those of File Output nodes.

    Blender names the render after the scene's output path: ``shot_####`` makes ``shot_0012.png``, with
    several views ``shot_0012_L.png`` (the first of them is taken). Where none has that name it is the
    file that was stored first.
    """
    if not rows:
        return None
    wanted = numbered(output_name, frame)
    stems = [(PurePosixPath(row.file.name).stem, row.file) for row in rows if "/" not in row.file.name]
    exact = [file for stem, file in stems if stem == wanted]
    like = [file for stem, file in stems if stem.startswith(wanted)]
    return (exact or like or [rows[0].file])[0]


def numbered(output_name: str, frame: int) -> str:
    """The output's name with the frame's number in place of its last hashes; four digits without any."""
    marks = re.search(r"#+(?=[^#]*$)", output_name)
    number = f"{abs(frame):0{len(marks[0]) if marks else 4}d}"
    number = f"-{number}" if frame < 0 else number
    return (
        output_name + number
        if marks is None
        else output_name[: marks.start()] + number + output_name[marks.end() :]
    )
