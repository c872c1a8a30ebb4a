"""What the rules of the core work on: the state, and the instructions so far."""

from __future__ import annotations

from collections.abc import Callable

from farm.dispatch import instructions as do
from farm.dispatch.board import Board
from farm.dispatch.instructions import Instruction
from farm.dispatch.lanes import Lanes
from farm.dispatch.paying import pay
from farm.dispatch.roster import Roster
from farm.dispatch.state import Frame, Job, State, Task, Worker
from farm.domain.control import Control
from farm.domain.states import JOB, TASK, AttemptState, JobEvent, TaskEvent, step
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import RenderClass


class Desk:
    """Changes states by the transition tables and writes down each change. No rule is decided here.

    `boards`, `lanes`, `roster` and `after` follow from the state, and are kept in step with it here, so
    that nobody has to look at all of it. `unsure` are jobs of which is to be found out anew whether a
    frame has nowhere to go, and for what they wait.
    """

    def __init__(self, state: State, new_attempt_id: Callable[[], str]) -> None:
        self.state = state
        self.new_attempt_id = new_attempt_id
        self.out: list[Instruction] = []
        self.now = 0.0  # of the step, seconds since the epoch
        self.boards: dict[str, Board] = {}
        self.lanes = Lanes()
        self.roster = Roster(state.workers.values())
        self.after: dict[str, set[str]] = {}  # those that come after a job, by its id
        self.unsure: set[str] = set()
        self.filed: set[str] = set()  # jobs of which something waits for other workers than before
        for job in state.jobs.values():
            self._enter(job)

    def drain(self) -> list[Instruction]:
        """The instructions since the last time."""
        out, self.out = self.out, []
        return out

    def take_up(self, job: Job) -> None:
        """A job that is there from now on."""
        self.state.jobs[job.id] = job
        self.state.ended.pop(job.id, None)
        self._enter(job)
        self.unsure |= self.after.get(job.id, set())

    def give_up(self, job: Job) -> None:
        """A job that is there no more."""
        del self.state.jobs[job.id]
        del self.boards[job.id]
        self.lanes.remove(job)
        self._forget_after(job)
        self.unsure |= self.after.get(job.id, set())
        self.unsure.discard(job.id)

    def control(self, job: Job, control: Control) -> None:
        """From now on the job is dispatched like this."""
        self._forget_after(job)
        job.control = control
        self.lanes.add(job)
        self._note_after(job)
        self.unsure.add(job.id)
        self.out.append(do.ControlSet(job.id, control))

    def _enter(self, job: Job) -> None:
        board = self.boards[job.id] = Board(job, self.filed)
        self.lanes.add(job)
        self.lanes.at_work[job.owner] += board.running
        self._note_after(job)
        self.unsure.add(job.id)

    def _note_after(self, job: Job) -> None:
        for other in job.control.after:
            self.after.setdefault(other, set()).add(job.id)

    def _forget_after(self, job: Job) -> None:
        for other in job.control.after:
            self.after[other].discard(job.id)
            if not self.after[other]:
                del self.after[other]
                self.state.ended.pop(other, None)

    def change_job(self, job: Job, event: JobEvent, error: str = "", cure: str = "") -> None:
        """The job's next state."""
        job.state = step(JOB, job.state, event, f"job {job.id}")
        self.out.append(do.JobChanged(job.id, job.state, error, cure))

    def step_frame(self, job: Job, frame: Frame, event: TaskEvent) -> None:
        """The frame's next state; what is told of it depends on why, and is left to the caller."""
        frame.state = step(TASK, frame.state, event, f"frame {frame.number} of {job.id}")

    def frame_changed(self, job: Job, frame: Frame, kind: TaskKind) -> None:
        """Tell where a frame is, now that a task of this kind is what it waits for."""
        self.out.append(do.FrameChanged(job.id, frame.number, frame.state, kind is TaskKind.FINISH))

    def open_task(self, job: Job, key: TaskKey) -> Task:
        """A new task, waiting."""
        task = job.tasks[key] = Task(key)
        self.boards[job.id].take(task)
        self.out.append(do.TaskOpened(key))
        return task

    def settle(self, job: Job, frame: Frame, render_class: RenderClass) -> None:
        """From now on, pieces of this frame come from this class only."""
        frame.render_class = render_class
        self.boards[job.id].refile(frame.number)
        self.out.append(do.ClassSettled(job.id, frame.number, render_class))

    def tasks_of(self, job: Job, frame: int) -> list[Task]:
        """The open tasks of a frame."""
        return list(self.boards[job.id].of_frame.get(frame, {}).values())

    def step_task(self, task: Task, event: TaskEvent) -> None:
        """The task's next state."""
        before = task.state
        task.state = step(TASK, before, event, str(task.key), task.story)
        task.story.append(event)
        board = self.boards[task.key.job_id]
        ran = board.running
        board.stepped(task, before)
        if board.running != ran:
            self.lanes.at_work[board.job.owner] += board.running - ran
            if not board.running:
                self.unsure.add(board.job.id)
        if event is TaskEvent.RETRY:
            self.unsure.add(board.job.id)

    def task_changed(self, task: Task) -> None:
        """Tell where a task is."""
        self.out.append(do.TaskChanged(task.key, task.state, task.failures, task.losses, task.renders))

    def end_task(self, job: Job, task: Task, event: TaskEvent) -> None:
        """The task's last state; it is open no more."""
        task.attempt = None
        self.step_task(task, event)
        self.task_changed(task)
        del job.tasks[task.key]
        self.boards[job.id].close(task)

    def abandon(self, job: Job, task: Task) -> None:
        """End an open task without a result; a running attempt is killed."""
        self.kill(task)
        self.end_task(job, task, TaskEvent.CANCEL)

    def recall(self, task: Task) -> None:
        """Kill the attempt that runs at a task; the task waits again."""
        self.kill(task)
        self.step_task(task, TaskEvent.RETRY)
        self.task_changed(task)

    def kill(self, task: Task) -> None:
        """Kill the attempt that runs at a task, if one does; what becomes of the task is the caller's."""
        if task.attempt is not None:
            attempt = self.state.attempts.pop(task.attempt)
            task.attempt = None
            pay(self.state, attempt, self.now)
            self.out += [
                do.AttemptEnded(attempt.id, attempt.key, attempt.worker_id, AttemptState.CANCELLED),
                do.CancelAttempt(attempt.worker_id, attempt.id),
            ]

    def worker_is(self, worker: Worker) -> None:
        """Something of a worker changed: what it is at, or whether it serves; or it is new."""
        version = self.roster.version
        self.roster.put(worker)
        if self.roster.version != version:
            self.unsure |= self.state.jobs.keys()

    def worker_left(self, worker_id: str) -> None:
        """A worker is gone."""
        if self.state.workers.pop(worker_id, None):
            self.roster.drop(worker_id)
            self.unsure |= self.state.jobs.keys()
            self.out.append(do.WorkerChanged(worker_id, None))

    def worker_failed(self, worker_id: str, why: str | None) -> None:
        """A worker cannot start, for this reason; None: it does, or is wanted no more."""
        if self.state.failed.get(worker_id) == why:
            return
        if why is None:
            del self.state.failed[worker_id]
        else:
            self.state.failed[worker_id] = why
        self.unsure |= self.state.jobs.keys()
        self.out.append(do.WorkerFailed(worker_id, why))

    def free(self, worker_id: str, attempt_id: str) -> None:
        """The worker is idle, unless it is at something else."""
        worker = self.state.workers.get(worker_id)
        if worker and worker.attempt == attempt_id:
            worker.attempt = None
            self.worker_is(worker)
            self.out.append(do.WorkerChanged(worker_id, worker.info))

    def free_by_attempt(self, attempt_id: str) -> None:
        """An attempt that has ended here reports at last: its worker is idle again."""
        if (worker_id := self.roster.holder(attempt_id)) is not None:
            self.free(worker_id, attempt_id)
