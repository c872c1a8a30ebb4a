"""Jobs by priority and user: whose turn it is."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Callable
from heapq import heapify, heappop, heapreplace

from farm.dispatch.state import Job

#: Priority, highest first (so it is negative), and user.
type Lane = tuple[int, str]


class Lanes:
    """The order in which jobs are asked: by priority; then the user with the fewest workers at work, and
    of two the one who was served longer ago; then the older job.
    """

    def __init__(self) -> None:
        self.at_work: Counter[str] = Counter()  # running attempts, by user
        self._lanes: dict[Lane, list[tuple[float, str, Job]]] = {}
        self._lane_of: dict[str, Lane] = {}
        self._served: dict[str, int] = {}
        self._turns = 0

    def add(self, job: Job) -> None:
        """A job that is there now; or that has another priority than it had."""
        self.remove(job)
        lane = self._lane_of[job.id] = (-job.control.priority, job.owner)
        insort(self._lanes.setdefault(lane, []), (job.created, job.id, job))

    def remove(self, job: Job) -> None:
        """A job that is there no more, if it was."""
        lane = self._lane_of.pop(job.id, None)
        if lane is not None:
            jobs = self._lanes[lane]
            del jobs[bisect_left(jobs, (job.created, job.id))]
            if not jobs:
                del self._lanes[lane]

    def serve(self, begin: Callable[[Job, bool], bool | None], more: Callable[[], bool]) -> int:
        """Ask one job after the other to ``begin`` one thing, for as long as there is ``more`` to give.

        One that cannot is not asked again. One that answers None has enough: it is asked once more, without
        thrift, when the others of its user have nothing to begin. Gives how many things were begun.
        """
        before = self._turns
        heap = [self._key(lane) for lane in self._lanes]
        heapify(heap)
        passed: dict[Lane, int] = {}
        sated: dict[Lane, deque[Job]] = {}
        while heap and more():
            lane = heap[0][0], heap[0][3]
            fresh = self._key(lane)
            if fresh != heap[0]:  # its user was served in another lane meanwhile
                heapreplace(heap, fresh)
                continue
            jobs = self._lanes[lane]
            at = passed.get(lane, 0)
            begun: bool | None = False
            while at < len(jobs) and not begun:
                job = jobs[at][2]
                begun = begin(job, len(jobs) > 1)
                if begun is None:
                    sated.setdefault(lane, deque()).append(job)
                at += not begun
            passed[lane] = at
            again = sated.get(lane)
            while again and not begun:
                begun = begin(again[0], False)
                if not begun:
                    again.popleft()
            if not begun:
                heappop(heap)
            else:
                self._turns += 1
                self._served[lane[1]] = self._turns
                heapreplace(heap, self._key(lane))
        return self._turns - before

    def _key(self, lane: Lane) -> tuple[int, int, int, str]:
        priority, owner = lane
        return priority, self.at_work[owner], self._served.get(owner, 0), owner
