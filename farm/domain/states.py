"""The states of jobs, tasks and attempts, and the only transitions between them.

`JOB` and `TASK` are tables; `step` looks a pair up and raises with the thing's story where there is
none. Nothing else in Tessera decides what may follow what. (An attempt needs no table: it runs, and
then it has one of its ends. Only “done” can be taken back, as “dropped”.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum


class JobState(StrEnum):
    """Where a job is."""

    WAITING = "waiting"  # submitted, nothing has started
    INSPECTING = "inspecting"  # Blender reads the scene
    RENDERING = "rendering"  # planned; frames are rendered and finished
    DONE = "done"
    FAILED = "failed"  # no further task can bring it to an end
    CANCELLED = "cancelled"


class JobEvent(StrEnum):
    """What moves a job."""

    INSPECT = "inspect"
    PLANNED = "planned"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCEL = "cancel"
    RETRY = "retry"  # a user wants what failed, or was cancelled, after all


class TaskState(StrEnum):
    """Where a task is, and a frame."""

    WAITING = "waiting"  # no attempt runs
    RUNNING = "running"  # one attempt runs
    DONE = "done"  # one attempt's result is committed
    FAILED = "failed"
    CANCELLED = "cancelled"


class TaskEvent(StrEnum):
    """What moves a task, or a frame."""

    START = "start"
    COMMIT = "commit"
    RETRY = "retry"
    FAIL = "fail"
    CANCEL = "cancel"
    ANEW = "anew"  # what was made is dropped: its frame moves to another render class, or it is at fault


class AttemptState(StrEnum):
    """Where a try of a task is."""

    RUNNING = "running"
    DONE = "done"  # its result is the task's result
    FAILED = "failed"
    LOST = "lost"  # its worker died, or a restarted head no longer found it: retried for free
    CANCELLED = "cancelled"
    #: It was done, or lost, and then its frame, or its piece, began anew: its result counts no more.
    DROPPED = "dropped"


JOB: Mapping[tuple[JobState, JobEvent], JobState] = {
    (JobState.WAITING, JobEvent.INSPECT): JobState.INSPECTING,
    (JobState.WAITING, JobEvent.PLANNED): JobState.RENDERING,  # made of another job, with its plan
    (JobState.INSPECTING, JobEvent.PLANNED): JobState.RENDERING,
    (JobState.RENDERING, JobEvent.COMPLETED): JobState.DONE,
    (JobState.INSPECTING, JobEvent.FAILED): JobState.FAILED,
    (JobState.RENDERING, JobEvent.FAILED): JobState.FAILED,
    (JobState.WAITING, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.INSPECTING, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.RENDERING, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.FAILED, JobEvent.RETRY): JobState.WAITING,
    (JobState.CANCELLED, JobEvent.RETRY): JobState.WAITING,
}

TASK: Mapping[tuple[TaskState, TaskEvent], TaskState] = {
    (TaskState.WAITING, TaskEvent.START): TaskState.RUNNING,
    (TaskState.RUNNING, TaskEvent.COMMIT): TaskState.DONE,
    (TaskState.RUNNING, TaskEvent.RETRY): TaskState.WAITING,
    (TaskState.RUNNING, TaskEvent.FAIL): TaskState.FAILED,
    (TaskState.WAITING, TaskEvent.FAIL): TaskState.FAILED,
    (TaskState.WAITING, TaskEvent.CANCEL): TaskState.CANCELLED,
    (TaskState.RUNNING, TaskEvent.CANCEL): TaskState.CANCELLED,
    (TaskState.RUNNING, TaskEvent.ANEW): TaskState.WAITING,  # a frame
    (TaskState.DONE, TaskEvent.ANEW): TaskState.WAITING,  # a tile of it
    (TaskState.FAILED, TaskEvent.ANEW): TaskState.WAITING,  # of a job that is retried
    (TaskState.CANCELLED, TaskEvent.ANEW): TaskState.WAITING,
}

JOB_ENDED = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})
TASK_ENDED = frozenset({TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED})


class IllegalTransition(RuntimeError):
    """A fault of ours: an event met a state that has no answer to it. Carries the story so far."""

    def __init__(self, thing: str, state: StrEnum, event: StrEnum, story: list[str]) -> None:
        told = " → ".join(story) or "no story"
        super().__init__(f"{thing} is {state} and cannot take “{event}” ({told})")


def step[S: StrEnum, E: StrEnum](
    table: Mapping[tuple[S, E], S], state: S, event: E, thing: str, story: Iterable[str] = ()
) -> S:
    """The state after ``event``; raises `IllegalTransition` for a pair that is not in ``table``."""
    try:
        return table[state, event]
    except KeyError:
        raise IllegalTransition(thing, state, event, list(story)) from None
