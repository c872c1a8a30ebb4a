"""From the database back to the core's state: after a restart, and for jobs that are new.

A task that is running there keeps its attempt: whether a worker still has it is found out when the
workers are met again.
"""

from __future__ import annotations

from farm.dispatch.state import Attempt, Frame, Job, State, Task
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.work import PieceRef, Role
from farm.store import Connection, frames, jobs, outputs, scenes, work
from farm.store.jobs import JobRow


def load_state(connection: Connection) -> State:
    """All jobs that were begun and have not ended, with open frames, open tasks, running attempts.

    Jobs that still wait are taken up by the loop, as new ones are.
    """
    state = State()
    for row in jobs.in_states(connection, [JobState.INSPECTING, JobState.RENDERING]):
        job = load_job(connection, row)
        state.jobs[job.id] = job
        for attempt in work.attempts_of_job(connection, job.id, [AttemptState.RUNNING]):
            task = job.tasks[attempt.task]
            task.attempt = attempt.id
            state.attempts[attempt.id] = Attempt(attempt.id, attempt.task, attempt.worker_id)
    return state


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
        state=row.state,
        report=row.report,
        plan=row.plan,
        opened=row.opened,
    )
    counted = frames.counts(connection, {row.id: row.opened})[row.id]
    job.done = counted.get(TaskState.DONE, 0)
    job.failed = counted.get(TaskState.FAILED, 0)
    if failed := frames.first_failed(connection, row.id):
        job.first_error = f"Frame {failed.frame}: {failed.error}"
    _load_frames(connection, job)
    for task in work.open_tasks(connection, job.id):
        job.tasks[task.key] = Task(task.key, task.state, task.failures, task.losses)
    return job


def _load_frames(connection: Connection, job: Job) -> None:
    rows = frames.in_states(connection, job.id, [TaskState.WAITING, TaskState.RUNNING])
    files = outputs.of_frames(connection, job.id, [row.frame for row in rows])
    for row in rows:
        frame = Frame(row.frame, row.state, render_class=row.render_class)
        for output in files[row.frame]:
            if output.file.role is Role.PIECE and output.tile is not None and output.render_class:
                frame.pieces[output.tile] = PieceRef(
                    tile=output.tile,
                    key=output.file.key,
                    blob=output.file.blob,
                    render_class=output.render_class,
                )
        job.frames[row.frame] = frame
        done = [
            task.key
            for task in work.tasks_of_frame(connection, job.id, row.frame)
            if task.state is TaskState.DONE
        ]
        for attempt in work.attempts_of_tasks(connection, done):
            if attempt.state is AttemptState.DONE and attempt.result:
                frame.seconds += attempt.result.seconds.total
