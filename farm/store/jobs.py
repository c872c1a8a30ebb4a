"""Rows of users and jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, Row, insert, select, tuple_

from farm.domain.control import Control
from farm.domain.costs import Costs
from farm.domain.job import JobSpec, Principal, RenderSettings
from farm.domain.plan import Plan
from farm.domain.scene import SceneReport
from farm.domain.states import JobState
from farm.store.batch import Batch, batch_of
from farm.store.database import insert_once
from farm.store.schema import jobs, users


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as it is stored."""

    id: str
    owner: str
    name: str
    scene_id: str
    settings: RenderSettings
    proves: str | None
    adds_to: str | None
    state: JobState
    created: float
    started: float | None
    ended: float | None
    report: SceneReport | None
    plan: Plan | None
    opened: int
    error: str
    cure: str
    control: Control
    costs: Costs
    waits: str


def add_user(connection: Connection, who: Principal, now: float) -> None:
    """Make sure that the user has a row."""
    insert_once(connection, users, id=who.user_id, name=who.name, created=now)


def add(connection: Connection, job_id: str, who: Principal, spec: JobSpec, now: float) -> None:
    """A new job, waiting. The dispatcher takes it up from there."""
    connection.execute(
        insert(jobs).values(
            id=job_id,
            owner=who.user_id,
            name=spec.name,
            scene_id=spec.scene_id,
            settings=spec.settings.model_dump_json(),
            control=spec.control.model_dump_json(),
            proves=spec.proves,
            adds_to=spec.adds_to,
            state=JobState.WAITING.value,
            created=now,
        )
    )


def get(connection: Connection, job_id: str) -> JobRow | None:
    """The job of this id; None where there is none, whatever people typed."""
    if "\0" in job_id:  # PostgreSQL would not even compare it
        return None
    row = connection.execute(select(jobs).where(jobs.c.id == job_id)).first()
    return None if row is None else _job(row)


def listed(connection: Connection, limit: int, before: JobRow | None = None) -> list[JobRow]:
    """Jobs, newest first; ``before`` continues after that one."""
    query = select(jobs).order_by(jobs.c.created.desc(), jobs.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(tuple_(jobs.c.created, jobs.c.id) < (before.created, before.id))
    return [_job(row) for row in connection.execute(query)]


def by_id(connection: Connection, job_ids: Iterable[str]) -> list[JobRow]:
    """These jobs, oldest first."""
    wanted = list(job_ids)
    if not wanted:
        return []
    query = select(jobs).where(jobs.c.id.in_(wanted)).order_by(jobs.c.created, jobs.c.id)
    return [_job(row) for row in connection.execute(query)]


def measured(connection: Connection, scene_id: str, among: int = 1000, most: int = 5) -> list[JobRow]:
    """Jobs that rendered a scene and know what it cost, newest first: of the farm's newest ``among`` jobs.

    Scenes have no index of their own: for a guess it is enough to look at what was done lately.
    """
    newest = select(jobs.c.id).order_by(jobs.c.created.desc(), jobs.c.id.desc()).limit(among).subquery()
    query = select(jobs).where(
        jobs.c.id.in_(select(newest.c.id)),
        jobs.c.scene_id == scene_id,
        jobs.c.costs.is_not(None),
        jobs.c.plan.is_not(None),
        jobs.c.proves.is_(None),
    )
    query = query.order_by(jobs.c.created.desc(), jobs.c.id.desc()).limit(most)
    return [_job(row) for row in connection.execute(query)]


def ids_in_states(connection: Connection, states: Iterable[JobState]) -> list[str]:
    """Ids of the jobs in any of ``states``, oldest first; cheap enough to ask all the time."""
    wanted = [state.value for state in states]
    query = select(jobs.c.id).where(jobs.c.state.in_(wanted)).order_by(jobs.c.created, jobs.c.id)
    return list(connection.execute(query).scalars())


def in_states(connection: Connection, states: Iterable[JobState]) -> list[JobRow]:
    """Jobs in any of ``states``, oldest first."""
    wanted = [state.value for state in states]
    query = select(jobs).where(jobs.c.state.in_(wanted)).order_by(jobs.c.created, jobs.c.id)
    return [_job(row) for row in connection.execute(query)]


def change(where: Connection | Batch, job_id: str, **values: object) -> None:
    """Write some columns of a job; the dispatcher's alone."""
    batch_of(where).change(jobs, (job_id,), values)


def _job(row: Row[tuple[object, ...]]) -> JobRow:
    return JobRow(
        id=row.id,
        owner=row.owner,
        name=row.name,
        scene_id=row.scene_id,
        settings=RenderSettings.model_validate_json(row.settings),
        proves=row.proves,
        adds_to=row.adds_to,
        state=JobState(row.state),
        created=row.created,
        started=row.started,
        ended=row.ended,
        report=None if row.report is None else SceneReport.model_validate_json(row.report),
        plan=None if row.plan is None else Plan.model_validate_json(row.plan),
        opened=row.opened,
        error=row.error,
        cure=row.cure,
        control=Control() if row.control is None else Control.model_validate_json(row.control),
        costs=Costs() if row.costs is None else Costs.model_validate_json(row.costs),
        waits=row.waits,
    )
