"""From the database back to the core's state: after a restart, and for jobs that are new.

A task that is running there keeps its attempt: whether a worker still has it is found out when the
workers are met again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from farm.dispatch import earlier
from farm.dispatch.attempts import ELSEWHERE
from farm.dispatch.dependencies import ALL_FRAMES, NotDone
from farm.dispatch.late import MOST_LOST
from farm.dispatch.state import Aside, Attempt, Ended, Frame, Job, Piece, State, Task
from farm.domain.states import JOB_ENDED, TASK_ENDED, AttemptState, JobState, TaskState
from farm.store import Connection, aside, frames, jobs, outputs, scenes, users, work
from farm.store.jobs import JobRow


def load_state(connection: Connection, now: float = 0.0) -> State:
    """All jobs that were begun and have not ended, with open frames, open tasks, running attempts.

    When an attempt last moved on is not stored: as far as is known, it does ``now``.

    Jobs that still wait are taken up by the loop, as new ones are. Workers are met again; those that
    were set aside are so still.
    """
    state = State(limits=users.limits(connection))
    for row in aside.listed(connection):
        state.aside[row.worker_id, row.job_id] = Aside(row.why, row.probes, row.since)
    for begun in jobs.in_states(connection, [JobState.INSPECTING, JobState.RENDERING]):
        job = load_job(connection, begun)
        state.jobs[job.id] = job
        for attempt in work.attempts_of_job(connection, job.id, [AttemptState.RUNNING]):
            task = job.tasks[attempt.task]
            task.attempt = attempt.id
            if job.plan is not None and job.plan.in_order:
                job.bound = attempt.worker_id
            at = (attempt.id, attempt.task, attempt.worker_id, attempt.started)
            moved = max(now, attempt.started)
            state.attempts[attempt.id] = Attempt(*at, attempt.progress, moved, watched=False)
        state.lost |= {attempt.id: attempt for attempt in _lost(connection, job)}
        state.cramped |= {key: None for key, task in job.tasks.items() if task.picky}
    after = {other for job in state.jobs.values() for other in job.control.after}
    state.ended = load_ended(connection, after - state.jobs.keys())
    return state


def load_ended(connection: Connection, job_ids: Iterable[str]) -> dict[str, Ended]:
    """Of these jobs those that have ended, for the jobs that come after them."""
    ended = [row for row in jobs.by_id(connection, job_ids) if row.state in JOB_ENDED]
    return {row.id: Ended(row.state, _missing(connection, row)) for row in ended}


def _missing(connection: Connection, row: JobRow) -> Container[int]:
    if row.state is JobState.DONE:
        return frozenset()
    if row.plan is None:
        return ALL_FRAMES
    lacking = frames.in_states(connection, row.id, [TaskState.FAILED, TaskState.CANCELLED])
    return NotDone(row.plan, row.opened, frozenset(frame.frame for frame in lacking))


def load_job(connection: Connection, row: JobRow) -> Job:
    """One job; its attempts are not looked at."""
    manifest = scenes.manifest_of(connection, row.scene_id)
    if manifest is None:
        raise LookupError(f"job {row.id} names scene {row.scene_id}, which has no row")
    job = Job(
        id=row.id,
        created=row.created,
        scene_id=row.scene_id,
        manifest=manifest,
        settings=row.settings,
        owner=row.owner,
        control=row.control,
        costs=row.costs,
        waits=row.waits,
        proves=row.proves,
        adds_to=row.adds_to,
        state=row.state,
        report=row.report,
        plan=row.plan,
        opened=row.opened,
    )
    counted = frames.counts(connection, {row.id: row.opened})[row.id]
    job.done = counted.get(TaskState.DONE, 0)
    if counted.get(TaskState.FAILED):
        failed = frames.in_states(connection, row.id, [TaskState.FAILED])
        job.failed_frames = {frame.frame: frame.error for frame in failed}
    if job.adds_to is not None:
        job.there = earlier.ranges(connection, job.adds_to)
    if row.plan is None and row.proves is None:
        job.earlier_costs = earlier.costs(connection, row)
    _load_frames(connection, job)
    for task in work.open_tasks(connection, job.id):
        job.tasks[task.key] = Task(task.key, task.state, task.failures, task.losses, task.renders)
    _remember_tries(connection, job)
    return job


def _load_frames(connection: Connection, job: Job) -> None:
    rows = frames.in_states(connection, job.id, [TaskState.WAITING, TaskState.RUNNING])
    files = outputs.of_frames(connection, job.id, [row.frame for row in rows])
    left = earlier.look(connection, job, [row.frame for row in rows])
    for row in rows:
        frame = Frame(
            row.frame, row.state, render_class=row.render_class, recuts=row.recuts, device=row.device
        )
        opened = work.tasks_of_frame(connection, job.id, row.frame)
        frame.races = max((task.key.race for task in opened), default=0)
        tasks = {task.key.tile: task for task in opened}
        done = work.attempts_of_tasks(connection, [task.key for task in tasks.values()])
        made = {attempt.id: attempt for attempt in done if attempt.state is AttemptState.DONE}
        if job.plan is not None:
            # One that is rendered here as well, because it was at fault or its class was gone, has an open
            # task; once that is done its own piece, below, takes the place of the other.
            open_tiles = {tile for tile, task in tasks.items() if task.state not in TASK_ENDED}
            taken = {tile: ref for tile, ref in left[row.frame].pieces.items() if tile not in open_tiles}
            frame.pieces = {tile: Piece(ref) for tile, ref in taken.items() if tile < job.plan.taken}
        for output in files[row.frame]:
            ref = earlier.piece_of(output, tasks)
            attempt = made.get(output.attempt_id)
            if ref is not None and attempt is not None and attempt.result is not None:
                seconds = attempt.result.seconds.total
                frame.pieces[ref.tile] = Piece(ref, attempt.worker_id, seconds)
        job.frames[row.frame] = frame


def _remember_tries(connection: Connection, job: Job) -> None:
    """What failed, or was found at fault, is done elsewhere, and with more memory, also after a restart."""
    in_vain = [AttemptState.FAILED, AttemptState.LOST, AttemptState.DROPPED]
    for attempt in work.attempts_of_job(connection, job.id, in_vain):
        task, failure = job.tasks.get(attempt.task), attempt.failure
        if task is None:
            continue
        if attempt.result is not None or (failure is not None and failure.cause in ELSEWHERE):
            task.failed_on.add(attempt.worker_id)
        if failure is not None:
            task.need(failure.memory, host=failure.host)


def _lost(connection: Connection, job: Job) -> list[Attempt]:
    """Attempts that were given up for lost and that may come back, oldest first."""
    rows = work.attempts_of_job(connection, job.id, [AttemptState.LOST], MOST_LOST)
    return [
        Attempt(row.id, row.task, row.worker_id, row.started, paid=row.ended or 0.0)
        for row in rows[::-1]
        if row.task in job.tasks
    ]
