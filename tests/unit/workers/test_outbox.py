from __future__ import annotations

import asyncio

from farm.domain.work import Cause, Failure, Progress, Result
from workers.outbox import Outbox


async def test_only_the_newest_progress_of_an_attempt_is_kept() -> None:
    outbox = Outbox(progress_seconds=0)
    for sample in range(1, 6):
        outbox.progress("a", Progress(phase="rendering", sample=sample))
    [report] = await outbox.read(0, 0)
    assert (report.sequence, report.progress) == (5, Progress(phase="rendering", sample=5))


async def test_progress_is_told_at_most_once_in_its_interval_and_the_last_is_not_lost() -> None:
    outbox = Outbox(progress_seconds=0.05)
    for sample in range(1, 4):
        outbox.progress("a", Progress(sample=sample))
    first = await outbox.read(0, 0)
    assert [report.progress.sample for report in first if report.progress] == [1]
    later = await outbox.read(first[-1].sequence, 5)
    assert [report.progress.sample for report in later if report.progress] == [3]


async def test_an_end_stays_until_it_is_acknowledged_and_drops_its_progress() -> None:
    outbox = Outbox()
    outbox.progress("a", Progress(sample=1))
    outbox.progress("a", Progress(sample=2))
    outbox.end("a", Result())
    for _ in range(2):
        assert [(r.sequence, r.result) for r in await outbox.read(0, 0)] == [(2, Result())]
    assert outbox.ended() == ["a"]
    assert await outbox.read(2, 0) == []
    assert await outbox.read(0, 0) == []
    assert outbox.ended() == []


async def test_ends_of_several_attempts_are_kept_in_order() -> None:
    outbox = Outbox()
    failure = Failure(cause=Cause.CRASH, what="It crashed.")
    outbox.end("a", Result())
    outbox.end("b", failure)
    assert [(r.attempt_id, r.failure) for r in await outbox.read(0, 0)] == [("a", None), ("b", failure)]
    assert [r.attempt_id for r in await outbox.read(1, 0)] == ["b"]


async def test_waiting_ends_with_the_first_report() -> None:
    outbox = Outbox()
    asyncio.get_running_loop().call_later(0.01, outbox.end, "a", Result())
    async with asyncio.timeout(5):
        assert len(await outbox.read(0, 60)) == 1


async def test_a_number_that_was_never_given_out_acknowledges_nothing() -> None:
    """A worker that started anew counts from 1 again; the head may still ask with its old number."""
    outbox = Outbox()
    outbox.end("a", Result())
    assert [report.sequence for report in await outbox.read(1000, 0)] == [1]


async def test_of_whether_a_worker_is_away_only_the_newest_is_kept_until_it_is_heard() -> None:
    outbox = Outbox()
    outbox.away("its owner is at it")
    outbox.end("a", Result())
    outbox.away("")
    outbox.away("its owner is back")
    assert [(r.sequence, r.attempt_id, r.away) for r in await outbox.read(0, 0)] == [
        (2, "a", None),
        (4, "", "its owner is back"),
    ]
    assert outbox.ended() == ["a"]
    assert await outbox.read(4, 0) == []


async def test_however_long_the_head_is_away_every_end_is_kept_and_little_else() -> None:
    outbox = Outbox(progress_seconds=0)
    for attempt in range(1000):
        for sample in range(3):
            outbox.progress(f"a{attempt}", Progress(sample=sample))
        outbox.away(str(attempt))
        outbox.end(f"a{attempt}", Result())
    kept = await outbox.read(0, 0)
    assert len(kept) == 1001
    assert outbox.ended() == [f"a{attempt}" for attempt in range(1000)]
