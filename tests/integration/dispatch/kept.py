"""A play whose records also go through the journal into a real database.

After each step the database is read back and compared with what the core holds: a dispatcher that is
killed at that very moment goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from farm.dispatch import earlier
from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.again import load_again
from farm.dispatch.core import Core
from farm.dispatch.furnish import furnish
from farm.dispatch.journal import Journal
from farm.dispatch.recovery import load_ended, load_job, load_state
from farm.dispatch.state import Earlier, Job, State
from farm.domain.job import LOCAL_OWNER, JobSpec
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.store import Database, jobs, outputs, scenes, work
from tests.unit.dispatch.play import MANIFEST, Play


@dataclass
class Kept(Play):
    """`kill` replaces the core with one made of the database alone."""

    store: Database = field(default_factory=lambda: Database("sqlite://"))
    bytes: set[str] = field(default_factory=set)  # keys in storage that rows should point at
    numbers: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.core = Core(State(), self._number)
        with self.store.write() as connection:
            jobs.add_user(connection, LOCAL_OWNER, 1.0)
            scenes.add_scene(connection, MANIFEST, 1.0)

    def _number(self) -> str:
        return f"a{next(self.numbers)}"

    def take_up(self, job: Job) -> None:
        if job.id in self.jobs:
            self._take_up_again(job)
            return
        spec = JobSpec(
            name=job.id,
            scene_id=MANIFEST.scene_id,
            settings=job.settings,
            control=job.control,
            proves=job.proves,
            adds_to=job.adds_to,
        )
        with self.store.write() as connection:
            jobs.add(connection, job.id, LOCAL_OWNER, spec, job.created)
            if job.plan is not None and job.report is not None:
                made = {"plan": job.plan.model_dump_json(), "report": job.report.model_dump_json()}
                jobs.change(connection, job.id, **made)
            [row] = jobs.by_id(connection, [job.id])
            loaded = load_job(connection, row)
        super().take_up(loaded)

    def _take_up_again(self, job: Job) -> None:
        with self.store.read() as connection:
            [row] = jobs.by_id(connection, [job.id])
            again = load_again(connection, row)
        assert again.frames == job.frames
        assert (again.done, again.failed, again.opened) == (job.done, job.failed, job.opened)
        super().take_up(again)

    def earlier(self, job: Job, numbers: list[int]) -> dict[int, Earlier]:
        with self.store.read() as connection:
            found = earlier.look(connection, job, numbers)
        assert found == super().earlier(job, numbers)
        return found

    def apply(self, instructions: list[do.Instruction]) -> None:
        super().apply(instructions)
        with self.store.write() as connection:
            journal = Journal(connection, self.now)
            for instruction in instructions:
                if isinstance(instruction, do.SendOrder):
                    order = furnish(connection, instruction.order)
                    self._check_furnished(instruction, order)
                    self.sent[order.attempt_id] = order
                elif not isinstance(instruction, do.CancelAttempt | do.ProbeWorker):
                    journal.write(instruction)
            journal.flush()
        self._check_bytes(instructions, journal.doomed)
        self.check_kept()

    def _check_furnished(self, sent: do.SendOrder, order: object) -> None:
        if sent.order.kind not in (TaskKind.VERIFY, TaskKind.ENCODE):
            assert order is sent.order

    def _check_bytes(self, instructions: list[do.Instruction], doomed: list[str]) -> None:
        """What is deleted was a piece of this very job, and counts no more."""
        for instruction in instructions:
            if isinstance(instruction, do.AttemptEnded) and instruction.result is not None:
                self.bytes |= {file.key for file in instruction.result.files}
        assert set(doomed) <= self.bytes
        self.bytes -= set(doomed)
        for job in self.core.state.jobs.values():
            for frame in job.frames.values():
                assert {piece.ref.key for piece in frame.pieces.values()} <= self.bytes

    def check_kept(self) -> None:
        """The database says what the core holds, but for what may be forgotten with the process."""
        with self.store.read() as connection:
            kept = load_state(connection)
            begun = {i: j for i, j in self.core.state.jobs.items() if j.state is not JobState.WAITING}
            assert kept.attempts == self.core.state.attempts
            assert kept.aside == self.core.state.aside
            assert set(kept.jobs) == set(begun)
            for job_id, job in begun.items():
                _check_job(kept.jobs[job_id], job)
                tries = {row.id: row.state for row in work.attempts_of_job(connection, job_id)}
                told = {a: s for a, s in self.attempts.items() if self.keys[a].job_id == job_id}
                assert tries.keys() == told.keys()
                for attempt_id, state in told.items():
                    # What is lost may count no more either.
                    lost = state is AttemptState.LOST
                    assert tries[attempt_id] in ((state, AttemptState.DROPPED) if lost else (state,))
                for number, left in self.left.items():
                    if number[0] == job_id and left.pieces:
                        rows = outputs.of_frames(connection, job_id, [number[1]])[number[1]]
                        assert rows
            open_still = {a.id for a in self.core.state.lost.values() if _is_open(begun, a.key)}
            assert kept.lost.keys() >= open_still

    def kill(self) -> None:
        """A dispatcher dies, and another reads the database; the workers are met again."""
        workers = dict(self.core.state.workers)
        with self.store.read() as connection:
            state = load_state(connection)
            waiting = jobs.by_id(connection, jobs.ids_in_states(connection, [JobState.WAITING]))
            fresh = [load_job(connection, row) for row in waiting]
            after = {other for job in fresh for other in job.control.after}
            state.ended |= load_ended(connection, after - state.jobs.keys())
        self.core = Core(state, self._number)
        # All at once, as a turn does: what has ended is remembered for each of them.
        self.apply([instruction for job in fresh for instruction in self.core.take_up(job)])
        for worker_id, worker in workers.items():
            unheard = [a for a, w in self.where.items() if w == worker_id and a in self.sent]
            self.tell(told.WorkerJoined(worker.info, tuple(unheard)))
        self.tell(told.FleetMet())


def _is_open(begun: dict[str, Job], key: TaskKey) -> bool:
    return key.job_id in begun and key in begun[key.job_id].tasks


def _check_job(kept: Job, job: Job) -> None:
    for name in ("created", "settings", "proves", "adds_to", "state", "report", "plan", "there"):
        assert getattr(kept, name) == getattr(job, name), name
    assert (kept.opened, kept.done, kept.failed) == (job.opened, job.done, job.failed)
    # Frames that are to be begun again lie there as any others: that they are is found out after a restart.
    assert set(kept.frames) == set(job.frames) | job.again
    for number, frame in job.frames.items():
        other = kept.frames[number]
        assert other.pieces == frame.pieces
        now = (frame.state, frame.render_class, frame.device)
        assert (other.state, other.render_class, other.device) == now
    assert set(kept.tasks) == set(job.tasks)
    for key, task in job.tasks.items():
        again = kept.tasks[key]
        assert (again.state, again.attempt) == (task.state, task.attempt)
        assert (again.failures, again.losses, again.renders) == (task.failures, task.losses, task.renders)
        assert again.failed_on >= task.failed_on
    if job.plan is not None and job.plan.in_order and any(t.attempt for t in job.tasks.values()):
        assert kept.bound == job.bound or any(t.key.frame is None for t in job.tasks.values())
    assert all(task.state in (TaskState.WAITING, TaskState.RUNNING) for task in kept.tasks.values())
