"""Where a frame comes from: who tried what, what it was made of, and on what."""

from __future__ import annotations

from farm.domain.job import Principal
from farm.domain.plan import Plan
from farm.domain.states import JOB_ENDED, AttemptState, TaskState
from farm.domain.task import TaskKind
from farm.domain.views import Provenance
from farm.service.context import Farm
from farm.service.describe import describe_attempt, found, planned
from farm.store import frames, outputs, scenes, work
from farm.store.work import AttemptRow


def of_frame(farm: Farm, who: Principal, job_id: str, frame: int) -> Provenance:
    """All that is known of how a frame was made; raises `NotFound`, and `Conflict` before there is a plan."""
    del who
    with farm.store.read() as connection:
        job = found(connection, job_id)
        whole = planned(job, frame)
        row = frames.of_job(connection, job_id, [frame]).get(frame)
        keys = [task.key for task in work.tasks_of_frame(connection, job_id, frame)]
        tries = work.attempts_of_tasks(connection, keys)
        logs = outputs.logs(connection, [attempt.id for attempt in tries])
        manifest = scenes.manifest_of(connection, job.scene_id)
    never = TaskState.CANCELLED if job.state in JOB_ENDED else TaskState.WAITING
    return Provenance(
        job_id=job_id,
        frame=frame,
        state=row.state if row else never,
        scene_id=job.scene_id,
        files={name: blob.sha256 for name, blob in manifest.files.items()} if manifest else {},
        adds_to=job.adds_to,
        attempts=tuple(describe_attempt(attempt, logs.get(attempt.id)) for attempt in tries),
        counts=_counting(whole.recut(row.recuts if row else ()), tries),
    )


def _counting(plan: Plan, tries: list[AttemptRow]) -> tuple[str, ...]:
    """Of the attempts that were done, those whose results make the frame; in their order."""
    done = [attempt for attempt in tries if attempt.state is AttemptState.DONE]
    pieces = {attempt.task.tile for attempt in done if attempt.task.tile is not None}
    cover = plan.cover(pieces | set(range(plan.taken)))
    if any(attempt.task.kind is TaskKind.FRAME for attempt in done):
        cover = ()  # a whole frame that was quicker than its pieces
    return tuple(
        attempt.id
        for attempt in done
        if attempt.task.tile is None or cover is None or attempt.task.tile in cover
    )
