"""What came of a run, in numbers. `docs/scheduling.md` defines each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median

from farm.domain.states import JobState
from farm.domain.task import TaskKind
from farm.simulate.bound import Fleet, alone, lower_bound
from farm.simulate.estimates import Estimates, Honesty, Said
from farm.simulate.heads import POLICIES
from farm.simulate.measured import Measured, Spell
from farm.simulate.run import Run
from farm.simulate.scenario import Scenario

_HOUR = 3600.0


@dataclass(frozen=True)
class Outcome:
    """Seconds, but for `cost` (money), counts, and what says that it is a share."""

    policy: str
    makespan: float  # from the first arrival to the end of the last job
    bound: float  # so counted, the least that it could be
    job_mean: float  # from a job's arrival to its end
    job_median: float
    stretch_mean: float  # a job's time, as a multiple of the least that it could be had it all workers
    utilisation: float  # share of the workers' time in which they were at something
    useful: float  # share of that which brought a finished frame on its way
    wasted: float  # worker seconds of what came to nothing: failures, lost races
    loading: float  # worker seconds of opening scenes
    syncing: float
    fairness: float  # Jain's index of the users' speeds
    cost: float
    attempts: int
    cut: int  # frames
    recut: int
    raced: int
    aside: int
    failures: dict[str, int]
    failed: dict[str, str]  # jobs that were not done, and why
    honesty: Honesty | None

    @property
    def times_bound(self) -> float:
        """The makespan as a multiple of the lower bound."""
        return self.makespan / self.bound

    def plain_data(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self) | {"times_bound": self.times_bound}


def simulate(
    scenario: Scenario, policy: str, beat: Callable[[float], None] | None = None
) -> tuple[Outcome, Measured]:
    """Run ``scenario`` under a policy; ``beat`` is told of the time now and then. Raises `TesseraError`."""
    head = POLICIES[policy]()
    estimates = Estimates()

    def watch(now: float) -> None:
        if estimates.due(now):
            estimates.said += [Said(job_id, now, left) for job_id, left in head.says()]
            if beat is not None:
                beat(now)

    measured = Run(scenario, head, watch).play()
    return outcome(scenario, policy, measured, estimates), measured


def outcome(scenario: Scenario, policy: str, measured: Measured, estimates: Estimates) -> Outcome:
    """The numbers of a run that is over."""
    first = scenario.jobs[0].arrival
    fleet = Fleet(scenario.machines)
    spans = {job.id: (job.arrival, measured.ends[job.id][0]) for job in scenario.jobs}
    times = {job.id: spans[job.id][1] - job.arrival for job in scenario.jobs}
    stretches = {job.id: times[job.id] / alone(job, fleet) for job in scenario.jobs}
    end = max(ended for _, ended in spans.values())
    spells = list(measured.spells.values())
    busy = [_lasted(spell, end) for spell in spells]
    useful = sum(seconds for spell, seconds in zip(spells, busy, strict=True) if spell.useful)
    prices = {machine.info.worker_id: machine.info.price for machine in scenario.machines}
    by_user: dict[str, list[float]] = {}
    for job in scenario.jobs:
        by_user.setdefault(job.user, []).append(stretches[job.id])
    return Outcome(
        policy=policy,
        makespan=end - first,
        bound=lower_bound(scenario) - first,
        job_mean=fmean(times.values()),
        job_median=median(times.values()),
        stretch_mean=fmean(stretches.values()),
        utilisation=sum(busy) / _there(measured, end),
        useful=useful / sum(busy),
        wasted=sum(busy) - useful,
        loading=sum(spell.seconds.load for spell in spells if spell.useful),
        syncing=sum(spell.seconds.sync for spell in spells if spell.useful),
        fairness=jain([1 / fmean(found) for found in by_user.values()]),
        cost=sum(seconds * prices[spell.worker] / _HOUR for spell, seconds in zip(spells, busy, strict=True)),
        attempts=len(spells),
        cut=len(measured.cut),
        recut=measured.recut,
        raced=measured.raced,
        aside=measured.aside,
        failures=dict(Counter(measured.causes).most_common()),
        failed={
            job_id: measured.errors.get(job_id, "")
            for job_id, (_, state) in sorted(measured.ends.items())
            if state is not JobState.DONE
        },
        honesty=estimates.judged(spans),
    )


def jain(given: Sequence[float]) -> float:
    """Jain's index of fairness: 1 where all are given the same, 1/n where one of n is given all.

    >>> jain([1, 1, 1, 1])
    1.0
    >>> jain([1, 0, 0, 0])
    0.25
    """
    return sum(given) ** 2 / (len(given) * sum(each * each for each in given))


def _lasted(spell: Spell, end: float) -> float:
    return max((end if spell.ended is None else min(spell.ended, end)) - spell.began, 0.0)


def _there(measured: Measured, end: float) -> float:
    """Worker seconds until the end, of the workers that were there."""
    spans: Iterable[tuple[float, float | None]] = (
        span for spans in measured.there.values() for span in spans
    )
    return sum(max((end if left is None else min(left, end)) - came, 0.0) for came, left in spans)


#: What workers are at, in the order in which a plot stacks it.
PHASES = ("render", "sync", "load", "other", "in vain")


def over_time(measured: Measured, parts: int = 240) -> dict[str, list[float]]:
    """Workers that were at each of `PHASES` on average, and "there", in each of ``parts`` of the makespan."""
    end = max(ended for ended, _ in measured.ends.values())
    step = end / parts
    found = {name: [0.0] * parts for name in (*PHASES, "there")}
    for spell in measured.spells.values():
        until = spell.began + _lasted(spell, end)
        if not spell.useful:
            _spread(found["in vain"], spell.began, until, step)
            continue
        seconds = spell.seconds
        at = spell.began
        render = seconds.render if spell.key.kind is not TaskKind.FINISH else 0.0
        for name, lasts in (("load", seconds.load), ("sync", seconds.sync), ("render", render)):
            _spread(found[name], at, min(at + lasts, until), step)
            at += lasts
        _spread(found["other"], at, until, step)
    for spans in measured.there.values():
        for came, left in spans:
            _spread(found["there"], came, end if left is None else min(left, end), step)
    return {name: [seconds / step for seconds in row] for name, row in found.items()}


def _spread(row: list[float], start: float, end: float, step: float) -> None:
    """Add the seconds of [``start``, ``end``) to the parts that they lie in."""
    part = int(start / step)
    while part < len(row) and part * step < end:
        row[part] += max(min(end, (part + 1) * step) - max(start, part * step), 0.0)
        part += 1
