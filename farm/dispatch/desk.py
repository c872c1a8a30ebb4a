"""What the rules of the core work on: the state, and the instructions so far."""

from __future__ import annotations

from collections.abc import Callable

from farm.dispatch import instructions as do
from farm.dispatch.instructions import Instruction
from farm.dispatch.state import Frame, Job, State, Task
from farm.domain.states import JOB, TASK, AttemptState, JobEvent, TaskEvent, step
from farm.domain.task import TaskKey, TaskKind


class Desk:
    """Changes states by the transition tables and writes down each change. No rule is decided here."""

    def __init__(self, state: State, new_attempt_id: Callable[[], str]) -> None:
        self.state = state
        self.new_attempt_id = new_attempt_id
        self.out: list[Instruction] = []
        self.now = 0.0  # of the step, seconds since the epoch

    def drain(self) -> list[Instruction]:
        """The instructions since the last time."""
        out, self.out = self.out, []
        return out

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
        self.out.append(do.TaskOpened(key))
        return task

    def step_task(self, task: Task, event: TaskEvent) -> None:
        """The task's next state."""
        task.state = step(TASK, task.state, event, str(task.key), task.story)
        task.story.append(event)

    def task_changed(self, task: Task) -> None:
        """Tell where a task is."""
        self.out.append(do.TaskChanged(task.key, task.state, task.failures, task.losses, task.renders))

    def end_task(self, job: Job, task: Task, event: TaskEvent) -> None:
        """The task's last state; it is open no more."""
        task.attempt = None
        self.step_task(task, event)
        self.task_changed(task)
        del job.tasks[task.key]

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
            self.out += [
                do.AttemptEnded(attempt.id, attempt.key, attempt.worker_id, AttemptState.CANCELLED),
                do.CancelAttempt(attempt.worker_id, attempt.id),
            ]

    def free(self, worker_id: str, attempt_id: str) -> None:
        """The worker is idle, unless it is at something else."""
        worker = self.state.workers.get(worker_id)
        if worker and worker.attempt == attempt_id:
            worker.attempt = None
            self.out.append(do.WorkerChanged(worker_id, worker.info))

    def free_by_attempt(self, attempt_id: str) -> None:
        """An attempt that has ended here reports at last: its worker is idle again."""
        for worker_id, worker in self.state.workers.items():
            if worker.attempt == attempt_id:
                self.free(worker_id, attempt_id)
                return
