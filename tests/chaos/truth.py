"""What must hold in a farm's database, whatever was done to the farm.

`check_truth` reads the tables as they are and not through the rooms of the farm, so that a fault
there is not seen twice the same way.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from farm.domain.frames import FrameRange
from farm.domain.states import JOB_ENDED, TASK_ENDED, AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Role
from farm.store import Database
from farm.store import schema as tables

_FINAL = frozenset({TaskKind.FRAME, TaskKind.FINISH, TaskKind.VERIFY})  # one of them makes a frame's outputs
_OF_A_PIECE = frozenset({Role.PIECE, Role.PREVIEW, Role.LOG})


def check_truth(database: Database, *, quiet: bool = True) -> list[str]:
    """Sentences about all that is wrong; none where all is well.

    ``quiet``: nobody asks for anything and all jobs have ended, so nothing may be open.
    """
    with database.read() as connection:
        return list(_Truth(connection).faults(quiet))


class _Truth:
    """All rows of one moment, by what they belong to."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.jobs = {row.id: row for row in self._rows(tables.jobs)}
        self.tasks = {row.key: row for row in self._rows(tables.tasks)}
        self.attempts = {row.id: row for row in self._rows(tables.attempts)}
        self.frames = {(row.job_id, row.frame): row for row in self._rows(tables.frames)}
        self.outputs = self._rows(tables.outputs)
        self.tries: dict[str, list[Row[Any]]] = defaultdict(list)
        for attempt in self.attempts.values():
            self.tries[attempt.task].append(attempt)

    def faults(self, quiet: bool) -> Iterator[str]:
        yield from self._orphans()
        for task in self.tasks.values():
            yield from self._task(task)
        for frame in self.frames.values():
            yield from self._frame(frame)
        for job in self.jobs.values():
            yield from self._job(job, quiet)
        yield from self._files()
        yield from self._told()
        if quiet and (left := self._rows(tables.intents)):
            yield f"{len(left)} wishes were never taken up"

    def _orphans(self) -> Iterator[str]:
        """Rows that belong to nothing."""
        for key, task in self.tasks.items():
            if task.job_id not in self.jobs:
                yield f"task {key} is of no job"
            if task.frame is not None and (task.job_id, task.frame) not in self.frames:
                yield f"task {key} is of a frame that was never opened"
        for attempt in self.attempts.values():
            if attempt.task not in self.tasks:
                yield f"attempt {attempt.id} is at no task"
            elif self.tasks[attempt.task].job_id != attempt.job_id:
                yield f"attempt {attempt.id} is of another job than its task"
        for output in self.outputs:
            if output.attempt_id not in self.attempts:
                yield f"output {output.id} was made by no attempt"
        yield from (f"frame {frame} is of no job" for job, frame in self.frames if job not in self.jobs)

    def _task(self, task: Row[Any]) -> Iterator[str]:
        """A task and its tries agree; it has one result where it is done, and none where it is not."""
        state = TaskState(task.state)
        states = Counter(AttemptState(attempt.state) for attempt in self.tries[task.key])
        done, running = states[AttemptState.DONE], states[AttemptState.RUNNING]
        if done != (state is TaskState.DONE):
            yield f"task {task.key} is {state} and has {done} results"
        if running != (state is TaskState.RUNNING):
            yield f"task {task.key} is {state} and has {running} running attempts"
        if state is TaskState.FAILED and not states[AttemptState.FAILED] + states[AttemptState.LOST]:
            yield f"task {task.key} has failed, and no attempt at it has"
        for attempt in self.tries[task.key]:
            ended = AttemptState(attempt.state) is not AttemptState.RUNNING
            if ended != (attempt.ended is not None):
                yield f"attempt {attempt.id} is {attempt.state} and its end is {attempt.ended}"

    def _frame(self, frame: Row[Any]) -> Iterator[str]:
        """A frame, its tasks and its files agree."""
        name, state = f"frame {frame.job_id}/{frame.frame}", TaskState(frame.state)
        tasks = [t for t in self.tasks.values() if (t.job_id, t.frame) == (frame.job_id, frame.frame)]
        if state in TASK_ENDED:
            left = [task.key for task in tasks if TaskState(task.state) not in TASK_ENDED]
            if left:
                yield f"{name} is {state} and has open tasks: {', '.join(left)}"
        if state is not TaskState.DONE:
            return
        final = [t.key for t in tasks if TaskKey.parse(t.key).kind in _FINAL and t.state == TaskState.DONE]
        if len(final) != 1:
            yield f"{name} is done by {len(final)} tasks: {', '.join(final)}"
        files = [o for o in self.outputs if (o.job_id, o.frame, o.tile) == (frame.job_id, frame.frame, None)]
        made = [output for output in files if output.role != Role.LOG]
        if len({output.attempt_id for output in made}) > 1:
            yield f"{name} has files of several attempts"
        twice = [name for name, times in Counter((o.role, o.name) for o in made).items() if times > 1]
        if twice:
            yield f"{name} has files twice: {twice}"
        proves = self.jobs[frame.job_id].proves is not None
        if not proves and not any(output.role == Role.OUTPUT for output in made):
            yield f"{name} is done and has no output"

    def _job(self, job: Row[Any], quiet: bool) -> Iterator[str]:
        """A job and its frames agree."""
        state = JobState(job.state)
        frames = [frame for (job_id, _), frame in self.frames.items() if job_id == job.id]
        if len(frames) != job.opened:
            yield f"job {job.id} says that {job.opened} frames are opened, and {len(frames)} are"
        if (state in JOB_ENDED) != (job.ended is not None):
            yield f"job {job.id} is {state} and its end is {job.ended}"
        if state not in JOB_ENDED:
            if quiet:
                yield f"job {job.id} is still {state}"
            return
        open_tasks = [
            t.key for t in self.tasks.values() if t.job_id == job.id and TaskState(t.state) not in TASK_ENDED
        ]
        open_frames = [frame.frame for frame in frames if TaskState(frame.state) not in TASK_ENDED]
        if open_tasks or open_frames:
            yield f"job {job.id} is {state}, and open are tasks {open_tasks} and frames {open_frames}"
        if state is not JobState.DONE:
            return
        wanted = set(FrameRange.parse(json.loads(job.plan)["frames"]))
        done = {frame.frame for frame in frames if frame.state == TaskState.DONE}
        if done != wanted:
            yield f"job {job.id} is done; frames not done: {sorted(wanted - done)}, too many: {done - wanted}"
        movies = {o.attempt_id for o in self.outputs if o.job_id == job.id and o.role == Role.VIDEO}
        if len(movies) != bool(json.loads(job.plan).get("videos")):
            yield f"job {job.id} has movies of {len(movies)} attempts"

    def _files(self) -> Iterator[str]:
        """A stored file counts through the one attempt whose result is its task's."""
        for output in self.outputs:
            attempt = self.attempts.get(output.attempt_id)
            if attempt is None:
                continue
            key, role = TaskKey.parse(attempt.task), Role(output.role)
            if (output.job_id, output.frame, output.tile) != (key.job_id, key.frame, key.tile):
                yield f"output {output.id} is filed elsewhere than its task {key}"
            if role is not Role.LOG and attempt.state != AttemptState.DONE:
                yield f"output {output.id} ({role}) is of an attempt that is {attempt.state}"
            if output.tile is not None and role not in _OF_A_PIECE:
                yield f"output {output.id} is the {role} of a piece"
            if role is Role.PIECE and self._outlived(output):
                yield f"piece {output.key} outlived its frame"
        keys = Counter(output.key for output in self.outputs)
        yield from (f"{key} is committed {times} times" for key, times in keys.items() if times > 1)
        yield from self._classes()

    def _outlived(self, piece: Row[Any]) -> bool:
        frame, job = self.frames.get((piece.job_id, piece.frame)), self.jobs[piece.job_id]
        kept = job.adds_to is not None or json.loads(job.settings).get("first") is not None
        return frame is not None and TaskState(frame.state) in TASK_ENDED and not kept

    def _classes(self) -> Iterator[str]:
        """What makes a frame comes from one render class."""
        classes: dict[tuple[str, int], set[str]] = defaultdict(set)
        for output in self.outputs:
            if output.frame is not None and output.role in (Role.OUTPUT, Role.PIECE) and output.render_class:
                classes[output.job_id, output.frame].add(output.render_class)
        for (job_id, frame), found in classes.items():
            if len(found) > 1:
                yield f"frame {job_id}/{frame} is made of {len(found)} render classes"

    def _told(self) -> Iterator[str]:
        """Each file that people get is told of once."""
        rows = self._rows(tables.events)
        told = Counter(json.loads(row.data)["output_id"] for row in rows if row.kind == "output.committed")
        yield from (
            f"output {output} is told of {times} times" for output, times in told.items() if times > 1
        )
        for output in self.outputs:
            if output.role in (Role.OUTPUT, Role.VIDEO) and not told[output.id]:
                yield f"nobody was told of output {output.id}"

    def _rows(self, table: Table) -> list[Row[Any]]:
        return list(self._connection.execute(select(table)))
