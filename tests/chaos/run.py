"""One run: some jobs, some faults meanwhile, and whether all is as if nothing had been done."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from sqlalchemy import func, select

from farm.domain.events import EventKind
from farm.domain.states import AttemptState, JobState
from farm.store import schema
from tests.chaos import jobs, pictures
from tests.chaos.jobs import Errand
from tests.chaos.kinds import KINDS, kinds_for
from tests.chaos.ledger import Done, Entry
from tests.chaos.pictures import Frames, References
from tests.chaos.site import Site, Sort
from tests.chaos.truth import check_truth

_FIRST, _LAST = 0.5, 14.0  # seconds after the jobs were sent in which faults begin
_PATIENCE = 240.0  # seconds after the last fault in which all jobs have to end
_REST = 180.0  # seconds in which the farm has to be whole again; a worker may have to be probed first


@dataclass(frozen=True)
class Fault:
    """A fault as it was drawn."""

    kind: str
    at: float
    seconds: float
    seed: int  # of the dice that choose among several victims


@dataclass(frozen=True)
class Plan:
    """All that a seed decides."""

    errands: tuple[Errand, ...]
    faults: tuple[Fault, ...]


def drawn(seed: int, faults: int, kinds: Sequence[str] = kinds_for(Sort.SQLITE), errands: int = 3) -> Plan:
    """The plan of this seed."""
    dice = random.Random(seed)  # noqa: S311  to be drawn again
    chosen = dice.choices(kinds, [KINDS[kind].weight for kind in kinds], k=faults)
    return Plan(
        tuple(jobs.draw(dice, errands)),
        tuple(
            Fault(
                kind,
                round(dice.uniform(_FIRST, _LAST), 2),
                round(dice.uniform(*KINDS[kind].seconds), 2),
                dice.getrandbits(32),
            )
            for kind in chosen
        ),
    )


def run(site: Site, references: References, seed: int, plan: Plan) -> Entry:
    """Do it, and look at all that came of it."""
    if told := _unrest(site):
        raise RuntimeError(f"the farm was not well before anything was done to it: {told[0]}")
    wanted = [references.of(site.client, errand) for errand in plan.errands]
    began, clock = time.monotonic(), time.time()
    with ThreadPoolExecutor(max_workers=len(plan.faults) or 1) as pool:
        doing = [pool.submit(_inflict, site, fault, began) for fault in plan.faults]
        sent = [
            jobs.submit(site.client, references.scene(errand.scene), errand, f"seed {seed}, job {number}")
            for number, errand in enumerate(plan.errands)
        ]
        hit = [done.result() for done in doing]
    wrong: list[str] = []
    found: list[Frames] = []
    for job_id, errand, frames in zip(sent, plan.errands, wanted, strict=True):
        faults, fetched = _looked_at(site, job_id, errand, frames)
        wrong += [f"job {job_id} ({errand.scene}): {fault}" for fault in faults]
        found.append(fetched)
    wrong += _unrest(site)
    wrong += check_truth(site.database)
    return Entry(
        seed=seed,
        jobs=tuple(f"{errand.scene} {errand.frames} {errand.tiles}" for errand in plan.errands),
        faults=tuple(_measured(site, done, clock + done.at) for done in hit),
        frames=sum(len(frames) for frames in found),
        seconds=round(time.monotonic() - began, 1),
        wrong=tuple(wrong),
    )


def _inflict(site: Site, fault: Fault, began: float) -> Done:
    kind = KINDS[fault.kind]
    threading.Event().wait(max(0.0, began + fault.at - time.monotonic()))
    at = time.monotonic()
    hit = kind.deed(site, random.Random(fault.seed), fault.seconds)  # noqa: S311
    return Done(fault.kind, round(at - began, 2), round(time.monotonic() - at, 2), hit)


def _looked_at(site: Site, job_id: str, errand: Errand, wanted: Frames) -> tuple[list[str], Frames]:
    job = jobs.until_ended(site.client, job_id, _PATIENCE)
    if job.state is not JobState.DONE:
        return [f"it is {job.state}: {job.error} {job.waits}".strip()], {}
    found = pictures.frames_of(site.client, job_id)
    faults = [*pictures.differences(found, wanted), *pictures.movie_faults(site.client, job_id, errand)]
    return faults, found


def _unrest(site: Site) -> list[str]:
    """What keeps the farm from being as it was before."""
    deadline = time.monotonic() + _REST
    while True:
        farm = jobs.patiently(site.client.farm)
        states = sorted(worker.state for worker in farm.workers)
        if (farm.dispatcher, farm.storage, states) == ("alive", "ok", ["idle", "idle"]):
            return []
        if time.monotonic() > deadline:
            return [f"the dispatcher is {farm.dispatcher}, storage {farm.storage}, workers {states}"]
        time.sleep(0.3)


def _measured(site: Site, done: Done, clock: float) -> Done:
    """How long it took until the farm went on, by the times in its database."""
    if done.hit is None:
        return done
    with site.database.read() as connection:
        rows = schema.attempts.c
        given = connection.execute(select(func.min(rows.started)).where(rows.started > clock)).scalar()
        result = (rows.ended > clock) & (rows.state == AttemptState.DONE.value)
        made = connection.execute(select(func.min(rows.ended)).where(result)).scalar()
        told = (schema.events.c.time > clock) & (schema.events.c.kind == EventKind.WORKER_STATE.value)
        met = connection.execute(select(func.min(schema.events.c.time)).where(told)).scalar()

    def after(moment: float | None) -> float | None:
        return None if moment is None else round(moment - clock, 2)

    return replace(done, met=after(met), dispatched=after(given), committed=after(made))
