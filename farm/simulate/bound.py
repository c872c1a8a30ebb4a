"""The lower bound: before this, no policy can be done. `docs/scheduling.md` derives it.

It is the larger of two. **Work**: after any moment, the fleet must at least do what is released after it:
all frames of a job, each synced once, from when its inspection can be over. **Chain**: a job cannot end
before its inspection and its longest frame, one after the other, on the fastest worker that has the memory;
a frame that may be cut can be shared by all workers, each of which syncs it, and is finished on one.

What the bound is spared makes it lower, never higher: scenes are opened once in the whole fleet, workers
that die by themselves are there all the time, nothing fails, pieces are of even cost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from farm.simulate.scenario import Machine, Scenario, Submitted


def lower_bound(scenario: Scenario) -> float:
    """Seconds from the start before which not all jobs can be done."""
    fleet = Fleet(scenario.machines)
    chains = max(released(job, fleet) + chain(job, fleet) for job in scenario.jobs)
    return max(chains, _work(scenario.jobs, fleet))


def alone(job: Submitted, fleet: Fleet) -> float:
    """Seconds from its arrival before which a job cannot be done, had it the whole fleet for itself."""
    work = job.work / fleet.speed_of(job.control.workers)
    return released(job, fleet) - job.arrival + max(work, chain(job, fleet))


def released(job: Submitted, fleet: Fleet) -> float:
    """When a job's inspection can be over, and its frames begun."""
    return job.arrival + job.inspection / fleet.fastest()


def chain(job: Submitted, fleet: Fleet) -> float:
    """Seconds of what has to be done one after the other in a job once it is inspected."""
    fastest = fleet.fastest(job.scene.memory)
    numbers = range(1, job.frames + 1)
    if job.in_order:
        return job.work / fastest
    if not job.cut:
        return max(job.scene.whole(number) for number in numbers) / fastest
    shared = fleet.speed_of(job.control.workers)
    return max(_frame(job, number, fastest, shared) for number in numbers)


def _frame(job: Submitted, number: int, fastest: float, shared: float) -> float:
    scene = job.scene
    sync, render = scene.frame(number)
    whole = scene.whole(number) / fastest
    merge = scene.finish / 2  # beside which the scene is opened
    finish = max(scene.load, merge) + scene.finish - merge + scene.rest
    return min(whole, (sync + scene.rest + finish) / fastest + render / shared)


def _work(jobs: Sequence[Submitted], fleet: Fleet) -> float:
    """The latest of the moments at which what is released after a moment can be done."""
    items = [(job.arrival, job.inspection) for job in jobs]
    items += [(released(job, fleet), job.work) for job in jobs]
    items.sort(reverse=True)
    latest = after = 0.0
    for release, work in items:
        after += work
        latest = max(latest, fleet.done(release, after))
    return latest


class Fleet:
    """How much the workers can do, and when: those that are taken back do nothing meanwhile."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = machines
        self._speeds = sorted((machine.speed for machine in machines), reverse=True)
        changes: dict[float, float] = {0.0: sum(self._speeds)}
        for machine in machines:
            for start, end in machine.gone:
                changes[start] = changes.get(start, 0.0) - machine.speed
                changes[end] = changes.get(end, 0.0) + machine.speed
        self._times = sorted(changes)
        self._rates = list(accumulate(changes[time] for time in self._times))
        #: Work that can be done up to each of the times.
        self._done = [0.0]
        for index in range(1, len(self._times)):
            passed = self._times[index] - self._times[index - 1]
            self._done.append(self._done[-1] + passed * self._rates[index - 1])

    def fastest(self, memory: int = 0) -> float:
        """The speed of the fastest worker with so many bytes of memory; of all, where none has so much."""
        able = [machine.speed for machine in self._machines if machine.info.gpu_memory >= memory]
        return max(able, default=self._speeds[0])

    def speed_of(self, most: int | None = None) -> float:
        """The sum of all speeds, or of the ``most`` fastest."""
        return sum(self._speeds[:most])

    def done(self, start: float, work: float) -> float:
        """When ``work`` can be done that is begun at ``start``."""
        wanted = self._until(start) + work
        index = bisect_left(self._done, wanted) - 1
        index = max(index, 0)
        return self._times[index] + (wanted - self._done[index]) / self._rates[index]

    def _until(self, time: float) -> float:
        index = max(bisect_left(self._times, time) - 1, 0)
        return self._done[index] + (time - self._times[index]) * self._rates[index]
