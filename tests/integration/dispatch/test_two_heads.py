"""Two dispatchers on one database: the second refuses, and one that was replaced writes nothing."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from farm.dispatch.headship import STALE, AnotherHead, wait_until_free
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.states import AttemptState, JobState
from farm.store import Database, head, jobs, scenes, work
from tests.postgres import postgres
from tests.unit.dispatch.play import MANIFEST

__all__ = ["postgres"]

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres")())
    return f"sqlite:///{tmp_path / 'farm.sqlite3'}"


@pytest.fixture
def store(url: str) -> Iterator[Database]:
    database = Database(url)
    with database.write() as connection:
        jobs.add_user(connection, LOCAL_OWNER, 1.0)
        scenes.add_scene(connection, MANIFEST, 1.0)
    yield database
    database.close()


@pytest.fixture
def begin(url: str) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a dispatcher; what is left of them is killed in the end."""
    with ExitStack() as ends:

        def begin() -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.integration.dispatch.one_head", url],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            ends.callback(process.communicate)
            ends.callback(process.kill)
            return process

        yield begin


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def held(store: Database) -> head.Head | None:
    with store.read() as connection:
        return head.held(connection)


def holder(store: Database) -> int | None:
    found = held(store)
    return None if found is None else found.pid


def submit(store: Database, job_id: str, frames: str) -> None:
    settings = RenderSettings(frames=frames, tiles="none")
    spec = JobSpec(name=job_id, scene_id=MANIFEST.scene_id, settings=settings)
    with store.write() as connection:
        jobs.add(connection, job_id, LOCAL_OWNER, spec, time.time())


def state(store: Database, job_id: str) -> JobState:
    with store.read() as connection:
        [row] = jobs.by_id(connection, [job_id])
    return row.state


def test_a_second_dispatcher_is_refused_and_told_who_holds_the_head(
    store: Database, begin: Callable[[], subprocess.Popen[str]]
) -> None:
    first = begin()
    until(lambda: holder(store) == first.pid)
    second = begin()
    said, _ = second.communicate(timeout=60)
    assert second.returncode == 4
    assert f"process {first.pid} on {platform.node()}, heard of" in said
    assert f"kill {first.pid}" in said
    found = held(store)
    assert found is not None
    assert (found.pid, found.epoch) == (first.pid, 1)
    submit(store, "j1", "1-2")
    until(lambda: state(store, "j1") is JobState.DONE)


def test_one_that_was_stopped_and_replaced_writes_nothing_when_it_wakes_and_ends(
    store: Database, begin: Callable[[], subprocess.Popen[str]]
) -> None:
    first = begin()
    until(lambda: holder(store) == first.pid)
    submit(store, "j1", "1-40")
    until(lambda: state(store, "j1") is JobState.RENDERING)
    first.send_signal(signal.SIGSTOP)
    second = begin()
    until(lambda: holder(store) == second.pid)
    first.send_signal(signal.SIGCONT)
    assert first.wait(timeout=60) == 3
    assert second.poll() is None
    until(lambda: state(store, "j1") is JobState.DONE)
    with store.read() as connection:
        tries = work.attempts_of_job(connection, "j1")
    done = [attempt.task for attempt in tries if attempt.state is AttemptState.DONE]
    assert len(done) == len(set(done)) == 41
    assert holder(store) == second.pid


def test_one_that_was_killed_is_replaced_and_one_that_ended_in_order_at_once(store: Database) -> None:
    slept: list[float] = []
    wait_until_free(store, sleep=slept.append)
    assert slept == []  # there never was one
    with store.write() as connection:
        epoch = head.take(connection, time.time(), "here", 7)
    wait_until_free(store, sleep=slept.append)
    assert sum(slept) == STALE
    slept.clear()
    wait_until_free(store, clock=lambda: time.time() + 1000, sleep=slept.append)
    assert slept == []  # long gone
    with store.write() as connection:
        head.check(connection, epoch)
        head.give_up(connection)
    wait_until_free(store, sleep=slept.append)
    assert slept == []


def test_one_whose_process_is_gone_from_this_machine_is_replaced_at_once(store: Database) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    slept: list[float] = []
    for host, pid, seconds in (
        (platform.node(), ended.pid, 0),
        (platform.node(), os.getpid(), STALE),
        ("elsewhere", ended.pid, STALE),
    ):
        slept.clear()
        with store.write() as connection:
            head.take(connection, time.time(), host, pid)
        wait_until_free(store, sleep=slept.append)
        assert sum(slept) == seconds


def test_one_that_beats_is_seen_to_live_whatever_its_clock_says(store: Database) -> None:
    with store.write() as connection:
        head.take(connection, time.time() + 50, "elsewhere", 7)

    def beats(_seconds: float) -> None:
        with store.write() as connection:
            head.beat(connection, time.time() + 51)

    with pytest.raises(AnotherHead, match="process 7 on elsewhere, heard of 0 s ago"):
        wait_until_free(store, sleep=beats)


def test_a_head_that_is_given_up_while_another_waits_is_free_at_once(store: Database) -> None:
    with store.write() as connection:
        head.take(connection, time.time(), "here", 7)
    slept: list[float] = []

    def gives_up(seconds: float) -> None:
        slept.append(seconds)
        with store.write() as connection:
            head.give_up(connection)

    wait_until_free(store, sleep=gives_up)
    assert len(slept) == 1
