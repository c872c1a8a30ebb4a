"""Rows of stored files. A row means: these bytes are in storage, and they count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import batched

from sqlalchemy import Connection, Row, delete, func, select

from farm.domain.scene import Blob
from farm.domain.task import TaskKey
from farm.domain.work import RenderClass, Role, StoredFile
from farm.store.batch import Batch, batch_of
from farm.store.database import CHUNK
from farm.store.schema import jobs, outputs


@dataclass(frozen=True, slots=True)
class OutputRow:
    """A committed file. `tile` is given for what belongs to a piece, `render_class` for what was rendered."""

    id: int
    job_id: str
    frame: int | None
    tile: int | None
    attempt_id: str
    file: StoredFile
    render_class: RenderClass | None


def add(
    where: Connection | Batch,
    key: TaskKey,
    attempt_id: str,
    file: StoredFile,
    render_class: RenderClass | None = None,
) -> int:
    """Commit a file of an attempt; returns its id. The dispatcher's alone."""
    batch = batch_of(where)
    number = batch.number(outputs)
    values: dict[str, object] = {
        "id": number,
        "job_id": key.job_id,
        "frame": key.frame,
        "tile": key.tile,
        "attempt_id": attempt_id,
        "role": file.role.value,
        "name": file.name,
        "key": file.key,
        "bytes": file.blob.bytes,
        "sha256": file.blob.sha256,
        "media_type": file.media_type,
        "render_class": None if render_class is None else render_class.text,
    }
    batch.add(outputs, values)
    return number


def get(connection: Connection, output_id: int) -> OutputRow | None:
    """The file of this id; None where there is none."""
    row = connection.execute(select(outputs).where(outputs.c.id == output_id)).first()
    return None if row is None else _output(row)


def of_frames(connection: Connection, job_id: str, numbers: Iterable[int]) -> dict[int, list[OutputRow]]:
    """Files of frames, in the order of their commit; those of tiles too."""
    found: dict[int, list[OutputRow]] = {number: [] for number in numbers}
    for some in batched(found, CHUNK, strict=False):
        query = select(outputs).where(outputs.c.job_id == job_id, outputs.c.frame.in_(some))
        for row in map(_output, connection.execute(query.order_by(outputs.c.id))):
            if row.frame is not None:
                found[row.frame].append(row)
    return found


def latest_previews(connection: Connection, job_ids: Iterable[str]) -> dict[str, int]:
    """Id of the newest preview of a whole frame, by job. One step in an index for each job."""
    newest = (
        select(func.max(outputs.c.id))
        .where(outputs.c.job_id == jobs.c.id, outputs.c.role == Role.PREVIEW.value, outputs.c.tile.is_(None))
        .scalar_subquery()
    )
    query = select(jobs.c.id, newest).where(jobs.c.id.in_(list(job_ids)))
    return {str(job_id): int(preview) for job_id, preview in connection.execute(query) if preview is not None}


def logs(connection: Connection, attempt_ids: Iterable[str]) -> dict[str, int]:
    """Id of the log by attempt."""
    query = select(outputs.c.attempt_id, outputs.c.id).where(
        outputs.c.attempt_id.in_(list(attempt_ids)), outputs.c.role == Role.LOG.value
    )
    return {str(row.attempt_id): int(row.id) for row in connection.execute(query)}


def movies(connection: Connection, job_ids: Iterable[str]) -> dict[str, list[OutputRow]]:
    """The movies made of jobs' frames, by job and in the order of their commit."""
    found: dict[str, list[OutputRow]] = {job_id: [] for job_id in job_ids}
    query = select(outputs).where(outputs.c.job_id.in_(list(found)), outputs.c.role == Role.VIDEO.value)
    for row in map(_output, connection.execute(query.order_by(outputs.c.id))):
        found[row.job_id].append(row)
    return found


def of_whole_frames(connection: Connection, job_id: str, roles: Iterable[Role]) -> Iterator[OutputRow]:
    """All files in ``roles`` of a job's whole frames, by frame and in the order of their commit.

    One at a time: a job may have a million frames.
    """
    query = select(outputs).where(
        outputs.c.job_id == job_id,
        outputs.c.role.in_([role.value for role in roles]),
        outputs.c.tile.is_(None),
        outputs.c.frame.is_not(None),
    )
    return map(_output, connection.execute(query.order_by(outputs.c.frame, outputs.c.id)))


def drop_pieces(
    connection: Connection, job_id: str, frame: int, pieces: Iterable[int] | None = None
) -> list[str]:
    """Forget the files of a frame's pieces, or of some of them; returns their keys.

    The bytes are to be deleted after the commit.
    """
    of_tiles = (outputs.c.job_id == job_id) & (outputs.c.frame == frame) & outputs.c.tile.is_not(None)
    if pieces is not None:
        of_tiles &= outputs.c.tile.in_(list(pieces))
    gone = of_tiles & outputs.c.role.in_([Role.PIECE.value, Role.PREVIEW.value])
    keys = list(connection.execute(select(outputs.c.key).where(gone)).scalars())
    connection.execute(delete(outputs).where(gone))
    return keys


def _output(row: Row[tuple[object, ...]]) -> OutputRow:
    return OutputRow(
        id=row.id,
        job_id=row.job_id,
        frame=row.frame,
        tile=row.tile,
        attempt_id=row.attempt_id,
        file=StoredFile(
            role=Role(row.role),
            name=row.name,
            key=row.key,
            blob=Blob(sha256=row.sha256, bytes=row.bytes),
            media_type=row.media_type,
        ),
        render_class=None if row.render_class is None else RenderClass.model_validate_json(row.render_class),
    )
