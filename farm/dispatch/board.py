"""The open tasks of one job, filed so that the next one for a worker is found without looking at all.

All of it follows from the job; the desk keeps it in step with each change.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from farm.dispatch.fitness import device_of
from farm.dispatch.state import Job, Task
from farm.domain.job import Device
from farm.domain.states import TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import RenderClass

#: What frees pieces comes before what makes new ones; what is missing here renders, and comes last.
_RANK = {TaskKind.INSPECT: 0, TaskKind.FINISH: 1, TaskKind.ENCODE: 1}
RENDERING = 2
#: Kinds that can only be done in the class of their frame, once it has one.
_OF_A_CLASS = frozenset({TaskKind.TILE, TaskKind.VERIFY})
#: Rank, as which number the frame is begun, piece, race: the smallest is the most urgent.
type Place = tuple[int, int, int, int]
#: What waiting tasks that render ask of a worker: a device, a render class where theirs has one, and bytes.
type Drawer = tuple[Device, RenderClass | None, tuple[int, int]]


class Board:
    """Waiting tasks in drawers, each in order: all that are in one can be done by the same workers."""

    def __init__(self, job: Job, filed: set[str]) -> None:
        """``filed`` is told the job's id where something waits for other workers than what waited so far."""
        self.job = job
        self._told = filed
        self._numbers: dict[int, int] = {}  # as which each open frame is begun
        self.running = 0
        self.of_frame: dict[int | None, dict[TaskKey, Task]] = {}  # open tasks
        self.urgent: list[tuple[Place, Task]] = []  # that render nothing
        self.drawers: dict[Drawer, list[tuple[Place, Task]]] = {}
        self.held: dict[TaskKey, Task] = {}  # not to be tried before a time
        self._filed: dict[TaskKey, tuple[Drawer | None, Place]] = {}
        self._due = 0.0
        for task in job.tasks.values():
            self.take(task)

    @property
    def waiting(self) -> int:
        """How many tasks wait."""
        return len(self._filed) + len(self.held)

    def take(self, task: Task) -> None:
        """A task that is open now, whatever its state."""
        self.of_frame.setdefault(task.key.frame, {})[task.key] = task
        if task.state is TaskState.WAITING:
            self._put(task)
        elif task.state is TaskState.RUNNING:
            self.running += 1

    def stepped(self, task: Task, before: TaskState) -> None:
        """A task went on from the state ``before``."""
        if before is TaskState.RUNNING:
            self.running -= 1
        elif before is TaskState.WAITING:
            self._withdraw(task.key)
        if task.state in (TaskState.WAITING, TaskState.RUNNING):
            self.take(task)

    def close(self, task: Task) -> None:
        """A task is open no more."""
        tasks = self.of_frame.get(task.key.frame, {})
        tasks.pop(task.key, None)
        if not tasks and task.key.frame is not None:
            self._numbers.pop(task.key.frame, None)
        if not tasks:
            self.of_frame.pop(task.key.frame, None)

    def refile(self, frame: int) -> None:
        """A frame is of another render class, or of none any more, or moved, or needs more memory."""
        for task in self.of_frame.get(frame, {}).values():
            if task.key in self._filed:
                self._withdraw(task.key)
                self._file(task)

    def is_filed(self, task: Task) -> bool:
        """Whether the task waits, and is not held."""
        return task.key in self._filed

    def release(self, now: float) -> None:
        """What was held until now waits as the others do."""
        if not self.held or self._due > now:
            return
        for task in [task for task in self.held.values() if task.not_before <= now]:
            del self.held[task.key]
            self._file(task)
        self._due = min((task.not_before for task in self.held.values()), default=0.0)

    def set_back(self, seconds: float) -> None:
        """The clock was: what is held waits no longer for it."""
        self._due -= seconds
        for task in self.job.tasks.values():  # also of what waits no more: it is ready only after that
            task.not_before -= seconds if task.not_before else 0.0

    def has_waiting(self, frame: int) -> bool:
        """Whether any rendering of this frame waits."""
        return any(
            task.state is TaskState.WAITING and task.key.kind is not TaskKind.FINISH
            for task in self.of_frame.get(frame, {}).values()
        )

    def _drawer(self, task: Task) -> Drawer | None:
        if task.key.kind in _RANK or task.key.frame is None:
            return None
        frame = self.job.frames.get(task.key.frame)
        settled = None if frame is None or task.key.kind not in _OF_A_CLASS else frame.render_class
        return device_of(self.job, frame), settled, (task.memory, task.host_memory)

    def _put(self, task: Task) -> None:
        if task.not_before:
            self._due = min(self._due, task.not_before) if self.held else task.not_before
            self.held[task.key] = task
        else:
            self._file(task)

    def _file(self, task: Task) -> None:
        key, drawer = task.key, self._drawer(task)
        # A whole frame and its own first piece may both wait, and no two tasks may have one place.
        piece = -1 if key.tile is None else key.tile
        place = (_RANK.get(key.kind, RENDERING), self._number(key.frame), piece, key.race)
        if drawer not in self.drawers:
            self._told.add(self.job.id)
        insort(self.urgent if drawer is None else self.drawers.setdefault(drawer, []), (place, task))
        self._filed[key] = drawer, place

    def _number(self, frame: int | None) -> int:
        if frame is None or self.job.plan is None:
            return -1
        if frame not in self._numbers:
            self._numbers[frame] = self.job.plan.number_of(frame)
        return self._numbers[frame]

    def _withdraw(self, key: TaskKey) -> None:
        self.held.pop(key, None)
        found = self._filed.pop(key, None)
        if found is None:
            return
        drawer, place = found
        tasks = self.urgent if drawer is None else self.drawers[drawer]
        del tasks[bisect_left(tasks, (place,))]
        if drawer is not None and not tasks:
            del self.drawers[drawer]
