"""Reports of a worker to the head: numbered, kept until acknowledged, progress coalesced."""

from __future__ import annotations

import asyncio
import contextlib

from farm.domain.work import Failure, Progress, Report, Result

PROGRESS_SECONDS = 1.0


class Outbox:
    """The worker's unacknowledged reports, in the order of their numbers.

    Guarantee: a result or a failure stays here, and is given again on every call, until `after`
    reaches its number, however long the head is away. Of an attempt's progress, and of whether the worker
    itself is away, only the newest is kept, so that what piles up is one report for each attempt; progress
    is told at most once a second and goes when the attempt ends. Numbers only grow. To be used from one
    event loop.
    """

    def __init__(self, progress_seconds: float = PROGRESS_SECONDS) -> None:
        self._reports: list[Report] = []
        self._last = 0
        self._news = asyncio.Event()
        self._progress_seconds = progress_seconds
        self._held: tuple[str, Progress] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._next_progress = 0.0

    def progress(self, attempt_id: str, progress: Progress) -> None:
        """Tell how far an attempt is; within a second of the last time it waits for its turn."""
        loop = asyncio.get_running_loop()
        self._held = (attempt_id, progress)
        wait = self._next_progress - loop.time()
        if wait <= 0:
            self._flush()
        elif self._timer is None:
            self._timer = loop.call_later(wait, self._flush)

    def end(self, attempt_id: str, outcome: Result | Failure) -> None:
        """Tell how an attempt ended; nothing of its progress is told after that."""
        self._held = None
        self._forget_progress(attempt_id)
        if isinstance(outcome, Result):
            self._add(Report(sequence=self._last + 1, attempt_id=attempt_id, result=outcome))
        else:
            self._add(Report(sequence=self._last + 1, attempt_id=attempt_id, failure=outcome))

    def away(self, why: str) -> None:
        """Tell that the worker takes no orders, or, where ``why`` is empty, that it does again."""
        self._reports = [report for report in self._reports if report.away is None]
        self._add(Report(sequence=self._last + 1, away=why))

    async def read(self, after: int, wait: float) -> list[Report]:
        """Reports numbered above ``after``, those up to it forgotten; waits for the first for ``wait`` s.

        An ``after`` that was never given out comes from a predecessor of this worker: it counts as 0.
        """
        known = after if after <= self._last else 0
        self._reports = [report for report in self._reports if report.sequence > known]
        await asyncio.sleep(0)  # a caller who acknowledges nothing and asks again must not starve others
        if not self._reports and wait > 0:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), wait)
        return [report for report in self._reports if report.sequence > known]

    def ended(self) -> list[str]:
        """Attempts whose end the head has not acknowledged yet."""
        return [report.attempt_id for report in self._reports if report.result or report.failure]

    def close(self) -> None:
        """Stop the clock and wake whoever waits."""
        if self._timer is not None:
            self._timer.cancel()
        self._news.set()

    def _flush(self) -> None:
        self._timer = None
        if self._held is None:
            return
        attempt_id, progress = self._held
        self._held = None
        self._next_progress = asyncio.get_running_loop().time() + self._progress_seconds
        self._forget_progress(attempt_id)
        self._add(Report(sequence=self._last + 1, attempt_id=attempt_id, progress=progress))

    def _forget_progress(self, attempt_id: str) -> None:
        self._reports = [
            report for report in self._reports if report.progress is None or report.attempt_id != attempt_id
        ]

    def _add(self, report: Report) -> None:
        self._last = report.sequence
        self._reports.append(report)
        self._news.set()
