"""`check_truth` finds nothing in what a farm writes, and every kind of damage to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from tests.chaos.truth import check_truth
from tests.integration.dispatch.kept import Kept
from tests.unit.dispatch.play import worker


@pytest.fixture
def kept() -> Iterator[Kept]:
    """A job of two frames in two tiles each that is done; its database."""
    kept = Kept()
    kept.join(worker("w1"), worker("w2"))
    kept.submit(frames="1-2", tiles="2x1")
    yield kept
    kept.store.close()


def finished(kept: Kept) -> Kept:
    while kept.sent:
        kept.succeed(kept.orders()[0])
    return kept


def test_a_farm_that_works_tells_the_truth_at_every_moment(kept: Kept) -> None:
    assert check_truth(kept.store, quiet=False) == []
    assert check_truth(kept.store) != [], "a job is not at its end yet"
    while kept.sent:
        kept.succeed(kept.orders()[0])
        assert check_truth(kept.store, quiet=False) == []
    assert check_truth(kept.store) == []


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            "UPDATE attempts SET state = 'lost' WHERE task = 'j1/1/finish'",
            "task j1/1/finish is done and has 0",
        ),
        (
            "INSERT INTO attempts (id, task, job_id, worker_id, state, started, ended) "
            "VALUES ('twice', 'j1/1/finish', 'j1', 'w1', 'done', 1, 2)",
            "task j1/1/finish is done and has 2 results",
        ),
        (
            "UPDATE tasks SET state = 'waiting' WHERE key = 'j1/1/tile-0'",
            "frame j1/1 is done and has open tasks: j1/1/tile-0",
        ),
        ("UPDATE tasks SET state = 'running' WHERE key = 'j1/1/tile-0'", "and has 0 running attempts"),
        ("UPDATE attempts SET ended = NULL WHERE task = 'j1/2/tile-1'", "its end is None"),
        ("UPDATE frames SET state = 'running' WHERE frame = 2", "job j1 is done; frames not done: [2]"),
        ("DELETE FROM frames WHERE frame = 2", "is of a frame that was never opened"),
        ("UPDATE jobs SET opened = 3", "job j1 says that 3 frames are opened, and 2 are"),
        ("UPDATE jobs SET ended = NULL", "job j1 is done and its end is None"),
        ("DELETE FROM outputs WHERE frame = 1", "frame j1/1 is done and has no output"),
        (
            "INSERT INTO outputs (job_id, frame, attempt_id, role, name, key, bytes, sha256, media_type) "
            "SELECT job_id, frame, attempt_id, role, name, key || '2', bytes, sha256, media_type "
            "FROM outputs WHERE frame = 1",
            "frame j1/1 has files twice",
        ),
        ("UPDATE outputs SET key = 'one'", "one is committed 2 times"),
        ("UPDATE outputs SET frame = 2 WHERE frame = 1", "is filed elsewhere than its task j1/1/finish"),
        ("UPDATE outputs SET attempt_id = 'nobody' WHERE frame = 1", "was made by no attempt"),
        ("UPDATE outputs SET role = 'piece', tile = 0 WHERE frame = 1", "outlived its frame"),
        ("DELETE FROM events WHERE kind = 'output.committed'", "nobody was told of output"),
        (
            "INSERT INTO events (time, job_id, kind, data) "
            "SELECT time, job_id, kind, data FROM events WHERE kind = 'output.committed'",
            "is told of 2 times",
        ),
        (
            "INSERT INTO intents (job_id, kind, time) VALUES ('j1', 'cancel', 1)",
            "1 wishes were never taken up",
        ),
    ],
)
def test_damage_is_found(kept: Kept, damage: str, told: str) -> None:
    finished(kept)
    with kept.store.write() as connection:
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        assert connection.execute(text(damage)).rowcount > 0
        if "DELETE FROM frames" in damage or "attempt_id" in damage:
            connection.execute(text("PRAGMA foreign_keys = OFF"))
    assert [sentence for sentence in check_truth(kept.store) if told in sentence], check_truth(kept.store)
