"""The pure core of the dispatcher: events in, instructions out.

`Core.handle` takes what happened, `Core.assign` gives idle workers work; both return instructions
in the order in which they are to be written and carried out. Time and new ids come in as
arguments. The core never waits, never reads anything and never fails halfway: an event about
something that has ended already is dropped, everything else goes through the transition tables.

Guarantees, checked after every step in tests:

- a task has at most one running attempt, and a worker at most one;
- a committed result is never replaced: what comes after it is dropped;
- a frame is done when its outputs are committed, a job when all its frames have ended.
"""

from __future__ import annotations

from collections.abc import Callable

from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.instructions import Instruction
from farm.dispatch.orders import order_for
from farm.dispatch.policy import (
    CLASS_PATIENCE,
    HOPELESS_FRAMES,
    Verdict,
    can_render,
    class_on,
    fits,
    in_order,
    judge,
    stranded,
)
from farm.dispatch.refusals import lost, no_device, refused
from farm.dispatch.state import Attempt, Frame, Job, State, Task, Worker
from farm.domain.errors import BadInput
from farm.domain.plan import Plan
from farm.domain.scene import SceneReport
from farm.domain.states import (
    JOB,
    TASK,
    AttemptState,
    JobEvent,
    JobState,
    TaskEvent,
    TaskState,
    step,
)
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure, PieceRef, Result, Role
from farm.planning import plan_job


class Core:
    """The state of all jobs that have not ended, and the rules by which it moves."""

    def __init__(self, state: State, new_attempt_id: Callable[[], str]) -> None:
        self.state = state
        self._new_attempt_id = new_attempt_id
        self._out: list[Instruction] = []

    # --- doors --------------------------------------------------------------------------------

    def take_up(self, job: Job) -> list[Instruction]:
        """A job that was just submitted."""
        self.state.jobs[job.id] = job
        self._out.append(do.JobChanged(job.id, job.state))
        return self._drain()

    def handle(self, event: told.Event, now: float) -> list[Instruction]:
        """What follows from ``event``."""
        match event:
            case told.CancelAsked(job_id):
                if job := self.state.jobs.get(job_id):
                    self._end_job(job, JobEvent.CANCEL)
            case told.WorkerJoined():
                self._worker_joined(event, now)
            case told.WorkerLost(worker_id):
                self._worker_lost(worker_id, now)
            case told.FleetMet():
                gone = [a for a in self.state.attempts.values() if a.worker_id not in self.state.workers]
                for left in gone:
                    why = f"{left.worker_id} did not come back when the farm was started again."
                    self._failed(left.id, lost(why), now, blamed=False)
            case told.OrderLost(attempt_id):
                # Not idle: what that worker does is unknown until the fleet has met it again.
                self._failed(attempt_id, lost("The order did not reach its worker."), now, free=False)
            case told.Progressed(attempt_id, progress):
                if attempt := self.state.attempts.get(attempt_id):
                    self._out.append(do.AttemptProgressed(attempt_id, attempt.key, progress))
            case told.Succeeded(attempt_id, result):
                self._succeeded(attempt_id, result, now)
            case told.Failed(attempt_id, failure):
                self._failed(attempt_id, failure, now)
        return self._drain()

    def assign(self, now: float) -> list[Instruction]:
        """Give every idle worker the most urgent task that it may take."""
        jobs = sorted(self.state.jobs.values(), key=lambda job: (job.created, job.id))
        for job in jobs:
            self._move_stranded(job, now)
        for worker in self.state.workers.values():
            if worker.attempt is not None:
                continue
            for job in jobs:
                if task := self._next_task(job, worker, now):
                    self._start(job, task, worker)
                    break
        return self._drain()

    def _drain(self) -> list[Instruction]:
        out, self._out = self._out, []
        return out

    # --- workers ------------------------------------------------------------------------------

    def _worker_joined(self, event: told.WorkerJoined, now: float) -> None:
        worker_id = event.info.worker_id
        worker = Worker(event.info)
        self.state.workers[worker_id] = worker
        for attempt in list(self.state.attempts.values()):
            if attempt.worker_id == worker_id and attempt.id not in event.attempts:
                why = f"{worker_id} knows nothing of it any more."
                self._failed(attempt.id, lost(why), now, blamed=False)
        for attempt_id in event.attempts:
            worker.attempt = attempt_id
            if attempt_id not in self.state.attempts:
                self._out.append(do.CancelAttempt(worker_id, attempt_id))
        self._out.append(do.WorkerChanged(worker_id, event.info, worker.attempt))

    def _worker_lost(self, worker_id: str, now: float) -> None:
        for attempt in list(self.state.attempts.values()):
            if attempt.worker_id == worker_id:
                self._failed(attempt.id, lost(f"{worker_id} died."), now)
        if self.state.workers.pop(worker_id, None):
            self._out.append(do.WorkerChanged(worker_id, None))

    def _free(self, worker_id: str, attempt_id: str) -> None:
        worker = self.state.workers.get(worker_id)
        if worker and worker.attempt == attempt_id:
            worker.attempt = None
            self._out.append(do.WorkerChanged(worker_id, worker.info))

    def _free_by_attempt(self, attempt_id: str) -> None:
        """An attempt that has ended here reports at last: its worker is idle again."""
        for worker_id, worker in self.state.workers.items():
            if worker.attempt == attempt_id:
                self._free(worker_id, attempt_id)
                return

    # --- starting -----------------------------------------------------------------------------

    def _next_task(self, job: Job, worker: Worker, now: float) -> Task | None:
        if job.state is JobState.WAITING:
            self._change_job(job, JobEvent.INSPECT)
            self._open_task(job, TaskKey(job.id, TaskKind.INSPECT))
        workers = self.state.workers.values()
        for task in in_order(job):
            if fits(job, task, worker, workers, now):
                return task
        if job.plan is None or not can_render(worker, job.settings.device):
            return None
        held = sum(task.not_before > now for task in job.tasks.values())
        if held >= len(workers):  # storage is away, or disks are full: the rest would fare no better
            return None
        if job.opened < len(job.plan.frame_range):
            return self._open_frame(job, job.plan)
        return None

    def _open_frame(self, job: Job, plan: Plan) -> Task:
        number = plan.frame_range[job.opened]
        job.opened += 1
        job.frames[number] = Frame(number)
        self._out.append(do.FrameOpened(job.id, number, job.opened))
        tiles = plan.pieces_per_frame
        if not tiles:
            return self._open_task(job, TaskKey(job.id, TaskKind.FRAME, number))
        opened = [self._open_task(job, TaskKey(job.id, TaskKind.TILE, number, i)) for i in range(tiles)]
        return opened[0]

    def _open_task(self, job: Job, key: TaskKey) -> Task:
        task = job.tasks[key] = Task(key)
        self._out.append(do.TaskOpened(key))
        return task

    def _start(self, job: Job, task: Task, worker: Worker) -> None:
        attempt = Attempt(self._new_attempt_id(), task.key, worker.info.worker_id)
        self._step(task, TaskEvent.START)
        task.attempt = worker.attempt = attempt.id
        self.state.attempts[attempt.id] = attempt
        frame = None if task.key.frame is None else job.frames[task.key.frame]
        if frame is not None:
            self._settle_class(job, frame, task.key, worker)
            if frame.state is TaskState.WAITING:
                frame.state = step(TASK, frame.state, TaskEvent.START, f"frame {frame.number} of {job.id}")
                self._frame_changed(job, frame, task.key.kind)
        self._out += [
            self._task_changed(task),
            do.AttemptStarted(attempt.id, task.key, worker.info.worker_id),
            do.WorkerChanged(worker.info.worker_id, worker.info, attempt.id),
            do.SendOrder(worker.info.worker_id, order_for(job, task.key, frame, attempt.id)),
        ]

    def _settle_class(self, job: Job, frame: Frame, key: TaskKey, worker: Worker) -> None:
        """The first tile's worker decides where the rest of the frame may be rendered."""
        render_class = class_on(worker, job.settings.device)
        if key.kind is TaskKind.TILE and frame.render_class is None and render_class is not None:
            frame.render_class = render_class
            self._out.append(do.ClassSettled(job.id, frame.number, render_class))

    def _move_stranded(self, job: Job, now: float) -> None:
        """Frames whose render class is gone wait a while for it, then begin anew on what is there."""
        if job.plan is None or not job.plan.pieces_per_frame:
            return
        workers = self.state.workers.values()
        for frame in list(job.frames.values()):
            if frame.render_class is None:
                continue
            tasks = [task for task in job.tasks.values() if task.key.frame == frame.number]
            if not stranded(job, tasks, workers, now):
                frame.stranded = None
                continue
            frame.stranded = now if frame.stranded is None else frame.stranded
            if not frame.pieces or now - frame.stranded >= CLASS_PATIENCE:
                self._begin_anew(job, frame, tasks)

    def _begin_anew(self, job: Job, frame: Frame, waiting: list[Task]) -> None:
        """A frame stays in one class, so one that must leave its own is rendered again as a whole.

        A finish that was opened waits on, until it has all its pieces again.
        """
        why = f"No worker is left with {frame.render_class}, so this frame is rendered again on another."
        frame.state = step(TASK, frame.state, TaskEvent.ANEW, f"frame {frame.number} of {job.id}")
        self._out.append(do.FrameAnew(job.id, frame.number, why))
        for task in waiting:
            task.failed_on.clear()
        for tile in frame.pieces:
            task = Task(TaskKey(job.id, TaskKind.TILE, frame.number, tile), TaskState.DONE)
            self._step(task, TaskEvent.ANEW)
            job.tasks[task.key] = task
            self._out.append(self._task_changed(task))
        job.frames[frame.number] = Frame(frame.number, frame.state)

    # --- ends of attempts ---------------------------------------------------------------------

    def _succeeded(self, attempt_id: str, result: Result, now: float) -> None:
        attempt = self.state.attempts.get(attempt_id)
        if attempt is None:
            self._free_by_attempt(attempt_id)
            return
        job = self.state.jobs[attempt.key.job_id]
        task = job.tasks[attempt.key]
        frame = None if attempt.key.frame is None else job.frames[attempt.key.frame]
        if wrong := refused(attempt.key, frame, result):
            self._failed(attempt_id, wrong, now)
            return
        del self.state.attempts[attempt_id]
        self._out.append(
            do.AttemptEnded(attempt_id, attempt.key, attempt.worker_id, AttemptState.DONE, result=result)
        )
        self._end_task(job, task, TaskEvent.COMMIT)
        self._free(attempt.worker_id, attempt_id)
        if frame is None:
            assert result.report is not None  # noqa: S101  `refused` checked it
            self._inspected(job, result.report)
        else:
            self._committed(job, frame, attempt.key, result)

    def _committed(self, job: Job, frame: Frame, key: TaskKey, result: Result) -> None:
        frame.seconds += result.seconds.total
        if key.kind is not TaskKind.TILE:
            self._end_frame(job, frame, TaskEvent.COMMIT)
            self._maybe_end(job)
            return
        piece = next(file for file in result.files if file.role is Role.PIECE)
        assert key.tile is not None  # noqa: S101  tiles are numbered
        assert result.render_class is not None  # noqa: S101  `refused` checked it
        frame.pieces[key.tile] = PieceRef(
            tile=key.tile, key=piece.key, blob=piece.blob, render_class=result.render_class
        )
        if frame.render_class is None:
            frame.render_class = result.render_class
            self._out.append(do.ClassSettled(job.id, frame.number, result.render_class))
        if job.plan is not None and len(frame.pieces) == job.plan.pieces_per_frame:
            finish = TaskKey(job.id, TaskKind.FINISH, frame.number)
            if finish not in job.tasks:  # there from before, where the frame began anew
                self._open_task(job, finish)
            self._frame_changed(job, frame, TaskKind.FINISH)

    def _inspected(self, job: Job, report: SceneReport) -> None:
        job.report = report
        self._out.append(do.JobInspected(job.id, report))
        if report.errors:
            what = " ".join(found.what for found in report.errors)
            cure = " ".join(found.cure for found in report.errors)
            self._end_job(job, JobEvent.FAILED, what, cure)
            return
        device = job.settings.device
        able = [worker for worker in self.state.workers.values() if can_render(worker, device)]
        if not able:
            what, cure = no_device(device)
            self._end_job(job, JobEvent.FAILED, what, cure)
            return
        try:
            job.plan = plan_job(job.settings, report, len(able))
        except BadInput as error:
            self._end_job(job, JobEvent.FAILED, error.what, error.cure)
            return
        self._out.append(do.JobPlanned(job.id, job.plan))
        self._change_job(job, JobEvent.PLANNED)

    def _failed(
        self, attempt_id: str, failure: Failure, now: float, *, free: bool = True, blamed: bool = True
    ) -> None:
        """A try came to nothing. ``free``: its worker is idle; ``blamed``: the task may be what did it."""
        attempt = self.state.attempts.pop(attempt_id, None)
        if attempt is None:
            self._free_by_attempt(attempt_id)
            return
        job = self.state.jobs[attempt.key.job_id]
        task = job.tasks[attempt.key]
        foreign = failure.cause is Cause.WRONG_CLASS and self._found_foreign(job, attempt)
        blamed = blamed and not foreign
        verdict = Verdict(retry=True, counts=False)
        if blamed:
            verdict = judge(job, task, failure.cause, attempt.worker_id, self.state.workers.values())
        state = AttemptState.LOST if failure.cause is Cause.LOST else AttemptState.FAILED
        self._out.append(
            do.AttemptEnded(
                attempt_id, attempt.key, attempt.worker_id, state, failure=failure, retry=verdict.retry
            )
        )
        if free:
            self._free(attempt.worker_id, attempt_id)
        task.attempt = None
        if failure.cause is Cause.STORAGE:
            task.stalls += 1
        elif verdict.counts:
            task.failures += 1
            task.failed_on.add(attempt.worker_id)
        elif blamed:
            task.losses += 1
        if verdict.retry:
            task.not_before = now + verdict.delay
            self._step(task, TaskEvent.RETRY)
            self._out.append(self._task_changed(task))
            return
        self._end_task(job, task, TaskEvent.FAIL)
        if attempt.key.frame is not None:
            tries = task.failures + task.losses
            said = f"{failure.what} ({tries} tries)" if tries > 1 else failure.what
            self._end_frame(job, job.frames[attempt.key.frame], TaskEvent.FAIL, said)
        if verdict.stops_job or attempt.key.frame is None:
            self._end_job(job, JobEvent.FAILED, failure.what, failure.cure)
        else:
            self._maybe_end(job)

    def _found_foreign(self, job: Job, attempt: Attempt) -> bool:
        """Notes a worker whose class only its try could tell, so that it is not asked again.

        False where its class was known: then its result is at fault, and that counts.
        """
        worker = self.state.workers.get(attempt.worker_id)
        if attempt.key.kind is not TaskKind.TILE or attempt.key.frame is None or worker is None:
            return False
        if class_on(worker, job.settings.device) is not None:
            return False
        job.frames[attempt.key.frame].foreign.add(attempt.worker_id)
        return True

    # --- ends ---------------------------------------------------------------------------------

    def _end_frame(self, job: Job, frame: Frame, event: TaskEvent, error: str = "") -> None:
        frame.state = step(TASK, frame.state, event, f"frame {frame.number} of {job.id}")
        for task in [task for task in job.tasks.values() if task.key.frame == frame.number]:
            self._abandon(job, task)
        if job.plan is not None and job.plan.pieces_per_frame:
            self._out.append(do.PiecesDropped(job.id, frame.number))
        seconds = frame.seconds if event is TaskEvent.COMMIT else None
        self._out.append(do.FrameChanged(job.id, frame.number, frame.state, seconds=seconds, error=error))
        del job.frames[frame.number]
        if event is TaskEvent.COMMIT:
            job.done += 1
        elif event is TaskEvent.FAIL:
            job.failed += 1
            job.first_error = job.first_error or f"Frame {frame.number}: {error}"

    def _maybe_end(self, job: Job) -> None:
        total = len(job.plan.frame_range) if job.plan else 0
        if job.done == 0 and job.failed >= HOPELESS_FRAMES and job.done + job.failed < total:
            what = f"The first {job.failed} frames failed, so the others were not tried. {job.first_error}"
            self._end_job(job, JobEvent.FAILED, what, "Look at the failed attempts; then submit it again.")
        elif job.done + job.failed == total:
            if job.failed:
                what = f"{job.failed} of {total} frames failed. {job.first_error}"
                self._end_job(job, JobEvent.FAILED, what, "The other frames are done and can be fetched.")
            else:
                self._end_job(job, JobEvent.COMPLETED)

    def _end_job(self, job: Job, event: JobEvent, error: str = "", cure: str = "") -> None:
        if event is not JobEvent.COMPLETED:
            for frame in list(job.frames.values()):
                self._end_frame(job, frame, TaskEvent.CANCEL)
            for task in list(job.tasks.values()):
                self._abandon(job, task)
        self._change_job(job, event, error, cure)
        del self.state.jobs[job.id]

    def _abandon(self, job: Job, task: Task) -> None:
        """End an open task without a result; a running attempt is killed."""
        if task.attempt is not None:
            attempt = self.state.attempts.pop(task.attempt)
            self._out += [
                do.AttemptEnded(attempt.id, attempt.key, attempt.worker_id, AttemptState.CANCELLED),
                do.CancelAttempt(attempt.worker_id, attempt.id),
            ]
        self._end_task(job, task, TaskEvent.CANCEL)

    def _end_task(self, job: Job, task: Task, event: TaskEvent) -> None:
        task.attempt = None
        self._step(task, event)
        self._out.append(self._task_changed(task))
        del job.tasks[task.key]

    # --- small change -------------------------------------------------------------------------

    def _step(self, task: Task, event: TaskEvent) -> None:
        task.state = step(TASK, task.state, event, str(task.key), task.story)
        task.story.append(event)

    def _change_job(self, job: Job, event: JobEvent, error: str = "", cure: str = "") -> None:
        job.state = step(JOB, job.state, event, f"job {job.id}")
        self._out.append(do.JobChanged(job.id, job.state, error, cure))

    def _frame_changed(self, job: Job, frame: Frame, kind: TaskKind) -> None:
        finishing = kind is TaskKind.FINISH
        self._out.append(do.FrameChanged(job.id, frame.number, frame.state, finishing))

    def _task_changed(self, task: Task) -> do.TaskChanged:
        return do.TaskChanged(task.key, task.state, task.failures, task.losses)
