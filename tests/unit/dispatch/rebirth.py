"""From the played database back to a core: after a restart, and for a job that is to go on after all."""

from __future__ import annotations

from collections.abc import Collection

from farm.dispatch import events as told
from farm.dispatch.core import Core
from farm.dispatch.dependencies import ALL_FRAMES
from farm.dispatch.state import Attempt, Earlier, Ended, Frame, Job, Piece, State, Task
from farm.domain.states import JOB_ENDED, AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from tests.unit.dispatch.play import Play


def restart(play: Play, back: Collection[str]) -> None:
    """The core dies, and another reads the database; only the workers named in ``back`` are found again."""
    before = play.core.state
    workers = {name: (worker.info, worker.attempt) for name, worker in before.workers.items()}
    state = State(limits=dict(before.limits), aside=dict(before.aside))
    for job_id, change in play.jobs.items():
        if change.state in (JobState.INSPECTING, JobState.RENDERING):
            state.jobs[job_id] = loaded(play, job_id)
    for attempt_id, attempt_state in play.attempts.items():
        if attempt_state is AttemptState.RUNNING:
            key, worker_id = play.keys[attempt_id], play.where[attempt_id]
            job = state.jobs[key.job_id]
            job.tasks[key].attempt = attempt_id
            if job.plan is not None and job.plan.in_order:
                job.bound = worker_id
            state.attempts[attempt_id] = Attempt(attempt_id, key, worker_id, play.now, moved=play.now)
        key, worker_id = play.keys[attempt_id], play.where[attempt_id]
        begun = state.jobs.get(key.job_id)
        if attempt_state is AttemptState.LOST and begun is not None and key in begun.tasks:
            state.lost[attempt_id] = Attempt(attempt_id, key, worker_id)
    for failed in play.failures:
        task = (
            state.jobs[failed.key.job_id].tasks.get(failed.key) if failed.key.job_id in state.jobs else None
        )
        if task is not None and failed.failure is not None and failed.failure.memory:
            task.need(failed.failure.memory, host=failed.failure.host)
            state.cramped[task.key] = None
    play.probed.clear()
    play.unstarted.clear()
    for job in state.jobs.values():
        state.ended |= ended(play, job)
    play.core = Core(state, play.new_id)
    waiting = [loaded(play, name) for name, job in play.jobs.items() if job.state is JobState.WAITING]
    for job in waiting:
        play.core.state.ended |= ended(play, job)
    play.apply([instruction for job in waiting for instruction in play.core.take_up(job)])
    for attempt_id in [a for a in play.sent if play.where[a] not in back]:
        del play.sent[attempt_id]
    for name in sorted(workers.keys() & set(back)):
        info, attempt = workers[name]
        play.tell(told.WorkerJoined(info, () if attempt is None else (attempt,)))
    play.tell(told.FleetMet())


def retry(play: Play, job_id: str) -> None:
    """A user wants a job that failed, or was cancelled, to go on after all."""
    job = loaded(play, job_id)
    for (of_job, number), state in play.rows.items():
        if of_job == job_id and state in (TaskState.FAILED, TaskState.CANCELLED):
            earlier = Earlier()
            if job.proves is not None or job.adds_to is not None:
                earlier = play.earlier(job, [number])[number]
            play.known[job_id, number] = earlier
            taken = play.taken(job_id, number)
            pieces = {tile: Piece(ref) for tile, ref in taken.items()}
            job.frames[number] = Frame(number, state, pieces, earlier.render_class)
    play.core.state.ended |= ended(play, job)
    play.take_up(job)


def ended(play: Play, job: Job) -> dict[str, Ended]:
    """Of the jobs that this one comes after, those that have ended."""
    found: dict[str, Ended] = {}
    for other in job.control.after:
        if other in play.jobs and play.jobs[other].state in JOB_ENDED:
            plan, state = play.plans.get(other), play.jobs[other].state
            missing = ALL_FRAMES if plan is None else not_done(play, other)
            found[other] = Ended(state, () if state is JobState.DONE else missing)
    return found


def not_done(play: Play, job_id: str) -> frozenset[int]:
    frames = play.plans[job_id].frame_range
    return frozenset(number for number in frames if play.rows.get((job_id, number)) is not TaskState.DONE)


def loaded(play: Play, job_id: str) -> Job:
    """A job as the database has it."""
    seen = play.jobs_seen[job_id]
    job = Job(
        seen.id,
        seen.created,
        seen.scene_id,
        seen.manifest,
        seen.settings,
        seen.owner,
        play.controls[job_id],
        waits=play.waits.get(job_id, ""),
        proves=seen.proves,
        adds_to=seen.adds_to,
        state=play.jobs[job_id].state,
        report=play.reports.get(job_id, seen.report),
        plan=play.plans.get(job_id, seen.plan),
        there=seen.there,
    )
    rows = {number: state for (of_job, number), state in play.rows.items() if of_job == job_id}
    job.opened = len(rows)
    job.done = sum(state is TaskState.DONE for state in rows.values())
    failed = [number for number, state in rows.items() if state is TaskState.FAILED]
    job.failed_frames = {number: play.frames[job_id, number].error for number in failed}
    for number, state in rows.items():
        if state in (TaskState.WAITING, TaskState.RUNNING):
            job.frames[number] = _frame(play, job_id, number, state)
    for key in play.open_keys(job_id):
        failures, losses, renders = play.counts[key]
        job.tasks[key] = Task(key, play.tasks[key], failures, losses, renders)
    return job


def _frame(play: Play, job_id: str, number: int, state: TaskState) -> Frame:
    made = {k: play.where[a] for a, k in play.keys.items() if play.attempts[a] is AttemptState.DONE}
    pieces = {}
    for tile, ref in play.pieces[job_id, number].items():
        by = made.get(TaskKey(job_id, TaskKind.TILE, number, tile))
        pieces[tile] = Piece(ref, by, 2.0 if by else 0.0)
    at = job_id, number
    frame = Frame(number, state, pieces, play.classes.get(at), play.recuts.get(at, ()))
    frame.device = play.devices.get(at)
    frame.races = max((key.race for key in play.tasks if (key.job_id, key.frame) == at), default=0)
    return frame
