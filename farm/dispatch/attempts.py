"""How attempts end: with a result that is committed, or with a failure and what follows from it."""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch import late, standing
from farm.dispatch.anew import at_fault, move_frame, pieces_anew
from farm.dispatch.covering import cover_of, give_up_others, give_up_useless, other_way
from farm.dispatch.desk import Desk
from farm.dispatch.ends import end_frame, end_job, maybe_end, movie_failed
from farm.dispatch.fitness import device_of, memory_for
from farm.dispatch.ladder import FREE, HOPELESS, MAX_FAILURES, Step, Tally, Verdict, judge
from farm.dispatch.learning import learn
from farm.dispatch.patience import learn_stillness
from farm.dispatch.paying import pay
from farm.dispatch.planned import inspected
from farm.dispatch.policy import class_on
from farm.dispatch.refusals import last_line, refused, too_big
from farm.dispatch.state import Attempt, Frame, Job, Piece, Task
from farm.domain.states import AttemptState, JobEvent, TaskEvent
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure, PieceRef, Result, Role


def succeeded(desk: Desk, attempt_id: str, result: Result, now: float) -> None:
    """A worker calls an attempt a success; it is committed, or refused as a failure.

    That of an attempt that was given up for lost is committed where its task is open, else dropped.
    """
    attempt = desk.state.attempts.get(attempt_id) or late.open_still(desk, attempt_id)
    if attempt is None:
        desk.free_by_attempt(attempt_id)
        return
    job = desk.state.jobs[attempt.key.job_id]
    task = job.tasks[attempt.key]
    frame = None if attempt.key.frame is None else job.frames[attempt.key.frame]
    if wrong := refused(attempt.key, frame, result):
        logs = tuple(file for file in result.files if file.role is Role.LOG)
        failed(desk, attempt_id, wrong.model_copy(update={"files": logs}), now)
        return
    if attempt_id in desk.state.lost:
        late.take_over(desk, job, task, attempt)
    else:
        del desk.state.attempts[attempt_id]
    desk.out.append(
        do.AttemptEnded(attempt_id, attempt.key, attempt.worker_id, AttemptState.DONE, result=result)
    )
    pay(desk.state, attempt, now)
    learn(desk, job, frame, attempt, result)
    learn_stillness(job, attempt, now)
    desk.end_task(job, task, TaskEvent.COMMIT)
    standing.credit(desk, attempt.key, attempt.worker_id)
    desk.free(attempt.worker_id, attempt_id)
    if frame is None:
        if result.report is not None and attempt.key.kind is TaskKind.INSPECT:
            inspected(desk, job, result.report)
        else:
            end_job(desk, job, JobEvent.COMPLETED)  # its movie is made
    elif attempt.key.kind is TaskKind.TILE:
        _piece_committed(desk, job, frame, task, attempt.worker_id, result)
    else:
        _frame_committed(desk, job, frame, attempt.key, result)


def _frame_committed(desk: Desk, job: Job, frame: Frame, key: TaskKey, result: Result) -> None:
    if job.proves is not None and result.proof is not None:
        desk.out.append(do.FrameVerified(job.proves, job.id, result.proof))
    made_of = (cover_of(job, frame) or ()) if key.kind is TaskKind.FINISH else ()
    seconds = sum((frame.pieces[tile].seconds for tile in made_of), result.seconds.total)
    end_frame(desk, job, frame, TaskEvent.COMMIT, seconds=seconds)
    maybe_end(desk, job)


def _piece_committed(desk: Desk, job: Job, frame: Frame, task: Task, worker_id: str, result: Result) -> None:
    file = next(file for file in result.files if file.role is Role.PIECE)
    tile = task.key.tile
    assert tile is not None  # noqa: S101  pieces are numbered
    assert result.render_class is not None  # noqa: S101  `refused` checked it
    ref = PieceRef(
        tile=tile,
        key=file.key,
        blob=file.blob,
        render_class=result.render_class,
        renders=task.renders + 1,
    )
    frame.pieces[tile] = Piece(ref, worker_id, result.seconds.total)
    if frame.render_class is None:
        desk.settle(job, frame, result.render_class)
    give_up_others(desk, job, frame)
    if cover_of(job, frame) is not None:
        finish = TaskKey(job.id, TaskKind.FINISH, frame.number)
        if finish not in job.tasks:  # there from before, where pieces were rendered again
            desk.open_task(job, finish)
        desk.frame_changed(job, frame, TaskKind.FINISH)


def failed(
    desk: Desk, attempt_id: str, failure: Failure, now: float, *, free: bool = True, blamed: bool = True
) -> None:
    """A try came to nothing. ``free``: its worker is idle; ``blamed``: the task may be what did it."""
    attempt = desk.state.attempts.pop(attempt_id, None)
    if attempt is None:
        desk.state.lost.pop(attempt_id, None)
        desk.free_by_attempt(attempt_id)
        return
    job = desk.state.jobs[attempt.key.job_id]
    task = job.tasks[attempt.key]
    frame = None if attempt.key.frame is None else job.frames[attempt.key.frame]
    pieces = at_fault(job, frame, attempt.key, failure)
    foreign = failure.cause is Cause.WRONG_CLASS and _found_foreign(desk, job, attempt)
    blamed = blamed and not foreign and not pieces
    verdict = FREE
    if blamed:
        verdict = judge(
            job, task, failure.cause, attempt.worker_id, desk.state.workers.values(), host=failure.host
        )
        failure = _with_memory(desk, job, task, attempt, failure, verdict)
        standing.blame(desk, attempt.key, attempt.worker_id, failure.cause)
    elif frame is not None and any(frame.pieces[tile].ref.renders >= MAX_FAILURES for tile in pieces):
        verdict = HOPELESS
    if verdict.move is not None and frame is not None and other_way(job, frame, task.key):
        verdict = Verdict(Step.FAIL)
    pay(desk.state, attempt, now)
    gone = failure.cause in (Cause.LOST, Cause.PREEMPTED)
    state = AttemptState.LOST if gone else AttemptState.FAILED
    desk.out.append(
        do.AttemptEnded(
            attempt_id, attempt.key, attempt.worker_id, state, failure=failure, retry=verdict.retry
        )
    )
    if free:
        desk.free(attempt.worker_id, attempt_id)
    _count(job, task, attempt, failure.cause, verdict)
    if not verdict.retry:
        _given_up(desk, job, task, failure, verdict, pieces)
        return
    task.not_before = now + verdict.delay
    task.need(verdict.memory, host=failure.host)
    if task.picky:
        desk.state.cramped.setdefault(task.key)
    desk.step_task(task, TaskEvent.RETRY)
    desk.task_changed(task)
    if failure.cause is Cause.LOST:
        late.remember(desk, attempt)
    if frame is not None and pieces:
        pieces_anew(desk, job, frame, pieces, failure.what)
    elif frame is not None and verdict.move is not None:
        move_frame(desk, job, frame, verdict.move, verdict.memory, host=failure.host)


#: Failures that may be their worker's, so that the task is tried elsewhere first.
ELSEWHERE = frozenset(Cause) - {Cause.STORAGE, Cause.PREEMPTED, Cause.CANCELLED, Cause.BAD_SCENE}


def _count(job: Job, task: Task, attempt: Attempt, cause: Cause, verdict: Verdict) -> None:
    """What this try counts against the task, and where it is tried again."""
    task.attempt = None
    if verdict.tally is Tally.STALL:
        task.stalls += 1
    elif verdict.tally is Tally.LOSS:
        task.losses += 1
    elif verdict.tally is Tally.FAILURE:
        task.failures += 1
    if verdict in (FREE, HOPELESS) or cause not in ELSEWHERE:
        return
    task.failed_on.add(attempt.worker_id)
    if job.bound == attempt.worker_id and verdict.tally is not Tally.LOSS:
        job.bound = None


def _with_memory(
    desk: Desk, job: Job, task: Task, attempt: Attempt, failure: Failure, verdict: Verdict
) -> Failure:
    """A failure for lack of memory tells how much there was, and at the end of its ladder what would help."""
    worker = desk.state.workers.get(attempt.worker_id)
    if failure.cause is not Cause.OUT_OF_MEMORY or worker is None:
        return failure
    had = memory_for(job, task, worker, host=failure.host)
    cure = failure.cure if verdict.retry else too_big(had, allowed=job.control.other_class)
    return failure.model_copy(update={"memory": had, "cure": cure})


def _given_up(
    desk: Desk, job: Job, task: Task, failure: Failure, verdict: Verdict, pieces: tuple[int, ...]
) -> None:
    """What a task that cannot be done takes with it: its frame, or its job."""
    frame = None if task.key.frame is None else job.frames[task.key.frame]
    if frame is not None and not verdict.stops_job and other_way(job, frame, task.key):
        desk.end_task(job, task, TaskEvent.FAIL)
        give_up_useless(desk, job, frame)
        return
    if frame is not None:
        said = _tried(failure, frame, task, pieces)
        desk.end_task(job, task, TaskEvent.FAIL)
        end_frame(desk, job, frame, TaskEvent.FAIL, said)
        if verdict.stops_job:
            end_job(desk, job, JobEvent.FAILED, failure.what, failure.cure)
        else:
            maybe_end(desk, job)
        return
    desk.end_task(job, task, TaskEvent.FAIL)
    if task.key.kind is TaskKind.ENCODE:
        movie_failed(desk, job, failure)
    else:
        end_job(desk, job, JobEvent.FAILED, failure.what, failure.cure)


def _tried(failure: Failure, frame: Frame, task: Task, pieces: tuple[int, ...]) -> str:
    """What a frame failed of: how often it was tried, what the log says last, what would have helped."""
    what = failure.what
    if pieces:
        times = max(frame.pieces[tile].ref.renders for tile in pieces)
        return f"{what} (rendered {times} times)"
    tries = task.failures + task.losses + (task.stalls if failure.cause is Cause.DISK_FULL else 0)
    said = [f"{what} ({tries} tries)" if tries > 1 else what]
    if failure.cause in (Cause.CRASH, Cause.HANG) and (line := last_line(failure.log_tail)):
        said.append(f"Its log ends: “{line}”")
    if failure.cause is Cause.OUT_OF_MEMORY:
        said.append(failure.cure)
    return " ".join(filter(None, said))


def _found_foreign(desk: Desk, job: Job, attempt: Attempt) -> bool:
    """Notes a worker whose class only its try could tell, so that it is not asked again.

    False where its class was known: then its result is at fault, and that counts.
    """
    worker = desk.state.workers.get(attempt.worker_id)
    key = attempt.key
    if key.kind not in (TaskKind.TILE, TaskKind.VERIFY) or key.frame is None or worker is None:
        return False
    frame = job.frames[key.frame]
    if class_on(worker, device_of(job, frame)) is not None:
        return False
    frame.foreign.add(attempt.worker_id)
    return True
