"""Rows of proofs: what came out when a finished frame was rendered whole by plain Blender."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Row, func, insert, select, update

from farm.domain.work import Proof
from farm.store.schema import proofs


@dataclass(frozen=True, slots=True)
class ProofRow:
    """The latest proof of a frame, and the job that made it."""

    frame: int
    by_job: str
    time: float
    proof: Proof


def put(connection: Connection, job_id: str, by_job: str, proof: Proof, now: float) -> None:
    """Note what was found of a frame of ``job_id``; it takes the place of an earlier proof of it."""
    values = {
        "by_job": by_job,
        "time": now,
        "exact": int(proof.exact),
        "proof": proof.model_dump_json(),
    }
    of_frame = (proofs.c.job_id == job_id) & (proofs.c.frame == proof.frame)
    if connection.execute(update(proofs).where(of_frame).values(**values)).rowcount == 0:
        connection.execute(insert(proofs).values(job_id=job_id, frame=proof.frame, **values))


def of_job(
    connection: Connection,
    job_id: str,
    by_job: str | None = None,
    first: int = 0,
    count: int | None = None,
    worst_first: bool = False,
) -> list[ProofRow]:
    """Proofs of a job's frames, in the order of the frames; ``count`` of them from the ``first``-th on.

    ``by_job`` keeps those that this job made, ``worst_first`` puts frames that differ before the others.
    """
    order = (proofs.c.exact, proofs.c.frame) if worst_first else (proofs.c.frame,)
    query = select(proofs).where(proofs.c.job_id == job_id).order_by(*order).offset(first).limit(count)
    if by_job is not None:
        query = query.where(proofs.c.by_job == by_job)
    return [_proof(row) for row in connection.execute(query)]


def of_frame(connection: Connection, job_id: str, frame: int) -> ProofRow | None:
    """The latest proof of a frame; None where it was never verified."""
    query = select(proofs).where(proofs.c.job_id == job_id, proofs.c.frame == frame)
    row = connection.execute(query).first()
    return None if row is None else _proof(row)


def counts(connection: Connection, job_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
    """By job: how many of its frames were verified, and how many of those differ. (0, 0) for none."""
    found = dict.fromkeys(job_ids, (0, 0))
    query = (
        select(proofs.c.job_id, func.count(), func.sum(proofs.c.exact))
        .where(proofs.c.job_id.in_(list(found)))
        .group_by(proofs.c.job_id)
    )
    for job_id, verified, exact in connection.execute(query):
        found[job_id] = (int(verified), int(verified) - int(exact))
    return found


def made(connection: Connection, verifications: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """As `counts`, by the job that made the proofs; ``verifications`` says whose frames each proves."""
    found = dict.fromkeys(verifications, (0, 0))
    query = (
        select(proofs.c.by_job, func.count(), func.sum(proofs.c.exact))
        .where(proofs.c.job_id.in_(set(verifications.values())), proofs.c.by_job.in_(list(found)))
        .group_by(proofs.c.by_job)
    )
    for by_job, verified, exact in connection.execute(query):
        found[by_job] = (int(verified), int(verified) - int(exact))
    return found


def _proof(row: Row[tuple[object, ...]]) -> ProofRow:
    return ProofRow(row.frame, row.by_job, row.time, Proof.model_validate_json(row.proof))
