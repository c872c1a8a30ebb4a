"""The journal writes a turn at once; in the end the rows are as if each record had been written by itself."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from farm.dispatch import instructions as do
from farm.dispatch.journal import Journal
from farm.domain.control import Control
from farm.domain.costs import Costs
from farm.domain.job import LOCAL_OWNER, Device, JobSpec
from farm.domain.plan import Recut
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure, Progress, Result, Role, Seconds
from farm.store import Connection, Database, jobs, scenes
from tests.unit.dispatch.play import AVX2, MANIFEST, SSE, stored, worker

TABLES = (
    *("jobs", "frames", "tasks", "attempts", "outputs", "proofs"),
    *("workers", "failed_workers", "set_aside"),
)
#: Events of which only the last of a turn is told, by what they are of.
PASSING = {
    "tile.state": ("frame", "tile"),
    "attempt.progress": ("attempt",),
    "worker.state": ("worker",),
    "job.waits": (),
    "job.costs": (),
}

job_ids = st.sampled_from(["j1", "j2"])
numbers = st.integers(1, 2)
states = st.sampled_from(list(TaskState))
words = st.sampled_from(["", "It is black.", "a\0b"])
counts = st.integers(0, 3)
workers = st.sampled_from(["w1", "w2"])
attempts = st.sampled_from([f"a{n}" for n in range(4)])
keys = st.one_of(
    st.builds(lambda j: TaskKey(j, TaskKind.INSPECT), job_ids),
    st.builds(lambda j, f: TaskKey(j, TaskKind.FINISH, f), job_ids, numbers),
    st.builds(lambda j, f, t: TaskKey(j, TaskKind.TILE, f, t), job_ids, numbers, st.integers(0, 1)),
)
files = st.lists(
    st.builds(stored, st.sampled_from([Role.PIECE, Role.PREVIEW, Role.OUTPUT, Role.LOG]), words), max_size=3
).map(tuple)
results = st.builds(
    lambda files, total: Result(files=files, render_class=AVX2, seconds=Seconds(total=total)),
    files,
    st.floats(0, 9),
)
failures = st.builds(lambda files, what: Failure(cause=Cause.CRASH, what=what, files=files), files, words)
records = st.one_of(
    st.builds(do.JobChanged, job_ids, st.sampled_from(list(JobState)), words, words),
    st.builds(do.FrameOpened, job_ids, numbers, counts),
    st.builds(
        do.FrameChanged, job_ids, numbers, states, st.booleans(), st.none() | st.floats(0, 9), error=words
    ),
    st.builds(do.WorkerFailed, workers, st.none() | words),
    st.builds(do.ClassSettled, job_ids, numbers, st.sampled_from([AVX2, SSE])),
    st.builds(do.ControlSet, job_ids, st.builds(Control, priority=st.integers(0, 100))),
    st.builds(do.JobWaits, job_ids, words),
    st.builds(do.CostsMeasured, job_ids, st.builds(Costs, seen=st.floats(0, 9))),
    st.builds(
        do.FrameRecut,
        job_ids,
        numbers,
        st.lists(st.builds(Recut, grid=st.sampled_from(["2x1", "1x1"])), max_size=2).map(tuple),
        words,
    ),
    st.builds(do.WorkerSetAside, workers, st.none() | job_ids, st.none() | words, counts),
    st.builds(do.FrameAnew, job_ids, numbers, words, st.none() | st.just(Device.CPU)),
    st.builds(do.PiecesAnew, job_ids, numbers, st.sampled_from([(0,), (0, 1)]), words),
    st.builds(do.PiecesDropped, job_ids, numbers),
    st.builds(do.TaskOpened, keys),
    st.builds(do.TaskChanged, keys, states, counts, counts, counts),
    st.builds(do.AttemptStarted, attempts, keys, workers),
    st.builds(do.AttemptProgressed, attempts, keys, st.builds(Progress, sample=counts)),
    st.builds(do.AttemptEnded, attempts, keys, workers, st.sampled_from(list(AttemptState)), result=results),
    st.builds(do.AttemptEnded, attempts, keys, workers, st.just(AttemptState.FAILED), failure=failures),
    st.builds(
        lambda name, here, attempt: do.WorkerChanged(name, worker(name) if here else None, attempt),
        workers,
        st.booleans(),
        st.none() | attempts,
    ),
)


def begun() -> Database:
    store = Database("sqlite://")
    with store.write() as connection:
        jobs.add_user(connection, LOCAL_OWNER, 1.0)
        scenes.add_scene(connection, MANIFEST, 1.0)
        for job_id in ("j1", "j2"):
            spec = JobSpec(name=job_id, scene_id=MANIFEST.scene_id)
            jobs.add(connection, job_id, LOCAL_OWNER, spec, 2.0)
    return store


def possible(told: list[do.Record]) -> list[do.Record]:
    """What a core could tell: attempts are at tasks that were opened, and begin once."""
    opened: set[TaskKey] = set()
    started: set[str] = set()
    kept: list[do.Record] = []
    for record in told:
        if isinstance(record, do.TaskOpened):
            opened.add(record.key)
        elif isinstance(record, do.AttemptStarted):
            if record.key not in opened or record.attempt_id in started:
                continue
            started.add(record.attempt_id)
        kept.append(record)
    return kept


def rows(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    found = {}
    for table in TABLES:
        query = f"SELECT * FROM {table}"  # noqa: S608  a table of ours
        found[table] = sorted((tuple(row) for row in connection.exec_driver_sql(query)), key=repr)
    return found


def told_of(connection: Connection) -> list[tuple[object, ...]]:
    query = "SELECT time, job_id, kind, data FROM events ORDER BY sequence"
    return [tuple(row) for row in connection.exec_driver_sql(query)]


def without_passed(told: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Of passing events only the last of each."""
    kept: dict[object, tuple[object, ...]] = {}
    for number, event in enumerate(told):
        _, job_id, kind, data = event
        about: object = number
        if (names := PASSING.get(str(kind))) is not None:
            body = json.loads(str(data))
            of = None if "attempt" in names else job_id  # an attempt is of one job, which need not be said
            about = (kind, of, *(body[name] for name in names))
        kept.pop(about, None)
        kept[about] = event
    return list(kept.values())


@settings(max_examples=150, deadline=None)
@given(told=st.lists(records, max_size=25).map(possible))
def test_a_turn_written_at_once_leaves_the_rows_that_one_by_one_leaves(told: list[do.Record]) -> None:
    stores = (begun(), begun())
    doomed: list[list[str]] = [[], []]
    try:
        with stores[0].write() as connection:
            for record in told:
                journal = Journal(connection, 5.0)
                journal.write(record)
                journal.flush()
                doomed[0] += journal.doomed
            one_by_one, events = rows(connection), told_of(connection)
        with stores[1].write() as connection:
            journal = Journal(connection, 5.0)
            for record in told:
                journal.write(record)
            journal.flush()
            doomed[1] += journal.doomed
            assert rows(connection) == one_by_one
            assert told_of(connection) == without_passed(events)
        assert doomed[1] == doomed[0]
    finally:
        for store in stores:
            store.close()
