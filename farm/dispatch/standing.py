"""Workers on which tasks fail that do well elsewhere: they are set aside, probed, and come back.

A failure counts against a worker only while no other worker failed at the same task, or once another did
it: so a broken scene, which fails everywhere, takes no worker out. It does not count where the worker is
not to blame: it was lost or taken back, storage was away, the scene is bad.

==========================  ================================================================================
set aside                   when, and until when
==========================  ================================================================================
for a job                   `TASKS` tasks of it failed there. One failure is an accident; a second one of
                            another task, with nothing done between, is a habit (each task that it does
                            forgives one). Until the job ends, a probe goes well, a failure is found to be
                            the task's own, or no other worker is left that could do it.
for the farm                it is set aside for `JOBS` jobs; or `TASKS_OF_ANY` tasks of several jobs failed
                            there within `WINDOW` seconds, with nothing done between. Until a probe goes well.
==========================  ================================================================================

For lack of memory a worker is set aside for the job alone: another job may fit. The last worker that could
do something is never set aside. So a worker that fails everything, among others that do not, costs two
tries of a job, and at most four of the farm in an hour, before it is given nothing more.

A probe is a small render of ours, on a worker that is at nothing: after `FIRST_PROBE` seconds, then after
twice as long, up to `LAST_PROBE`. When it goes well, what failed is forgotten; a worker that is set aside
again before it did anything waits on from where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from farm.dispatch import instructions as do
from farm.dispatch.desk import Desk
from farm.dispatch.policy import can_render, may_take, meets
from farm.dispatch.state import Aside, Fault, Job, Standing, State, Task, Worker
from farm.domain.task import TaskKey
from farm.domain.work import Cause

TASKS = 2
JOBS = 2
TASKS_OF_ANY = 4
#: Four tasks that hang, each for the fifteen minutes of a worker's own patience, fit into an hour.
WINDOW = 3600.0
FIRST_PROBE, LAST_PROBE = 60.0, 1800.0
#: Causes that may be the worker's own fault.
#: Seconds between two looks at all of them; who just failed is looked at at once.
_EVERY = 1.0
_ITS_OWN = frozenset(
    {
        Cause.CRASH,
        Cause.HANG,
        Cause.OUT_OF_MEMORY,
        Cause.NO_DEVICE,
        Cause.BAD_RESULT,
        Cause.WRONG_CLASS,
        Cause.DISK_FULL,
        Cause.INTERNAL,
    }
)


def blame(desk: Desk, key: TaskKey, worker_id: str, cause: Cause) -> None:
    """A task failed on a worker."""
    if cause not in _ITS_OWN:
        return
    elsewhere = [(name, found) for name, found in _with(desk.state, key) if name != worker_id]
    for name, fault in elsewhere:
        fault.only_here = False
        desk.state.touched.add(name)
    standing = desk.state.standing.setdefault(worker_id, Standing())
    standing.faults.setdefault(key, Fault(desk.now, cause, only_here=not elsewhere))
    desk.state.touched.add(worker_id)


def credit(desk: Desk, key: TaskKey, worker_id: str) -> None:
    """A worker did a task: it is forgiven one of the job; those that failed at it are found guilty."""
    state = desk.state
    for name, fault in _with(state, key):
        if name != worker_id:
            fault.proved = True
            state.touched.add(name)
    standing = state.standing.get(worker_id)
    if standing is None:
        return
    standing.relapses = 0
    of_job = [other for other in standing.faults if other.job_id == key.job_id]
    for other in [key] if key in standing.faults else of_job[:1]:
        del standing.faults[other]
    for other, fault in list(standing.faults.items()):
        fault.fresh = False
        if other.job_id not in state.jobs:
            del standing.faults[other]


def joined(state: State, worker: Worker) -> None:
    """A worker comes back as what it was."""
    name = worker.info.worker_id
    found = {job_id: aside.why for (of, job_id), aside in state.aside.items() if of == name}
    worker.aside = found.pop(None, "")
    worker.barred = {job_id for job_id in found if job_id is not None}


def probed(desk: Desk, worker_id: str, wrong: str | None) -> None:
    """What came of a probe; None: it could not be tried, and is once it can be."""
    worker = desk.state.workers.get(worker_id)
    if worker is not None:
        worker.probing = False
        desk.worker_is(worker)
    aside = desk.state.aside.get((worker_id, None))
    if aside is None or wrong is None:
        return
    if wrong:
        aside.why = f"Tasks failed on it, and a test render failed as well: {wrong}"
        aside.probes += 1
        _put(desk, worker_id, None, aside)
        return
    for of, job_id in list(desk.state.aside):
        if of == worker_id:
            _lift(desk, worker_id, job_id)
    relapses = desk.state.standing.get(worker_id, Standing()).relapses + 1
    desk.state.standing[worker_id] = Standing(relapses=relapses)


def tend(desk: Desk) -> None:
    """Set aside who is to be, let back who is, and have those probed for whom it is time."""
    state, now = desk.state, desk.now
    if not (state.standing or state.aside):
        return
    all_of_them = not 0 <= now - state.tended < _EVERY
    touched, state.touched = state.touched, set()
    if not (all_of_them or touched):
        return
    for worker_id, job_id in list(state.aside):
        looked = all_of_them or worker_id in touched
        if looked and job_id is not None and not _still(desk, worker_id, job_id):
            _lift(desk, worker_id, job_id)
    for worker_id in list(state.standing) if all_of_them else sorted(touched & state.standing.keys()):
        standing, worker = state.standing[worker_id], state.workers.get(worker_id)
        _forget(state, standing, now)
        if not standing.faults and not standing.relapses:
            del state.standing[worker_id]
        elif worker is not None and not worker.aside:
            _look(desk, worker, standing)
    if all_of_them:
        state.tended = now
        for (worker_id, job_id), aside in state.aside.items():
            if job_id is None:
                _probe_if_due(desk, worker_id, aside)


def _look(desk: Desk, worker: Worker, standing: Standing) -> None:
    """Is this worker to be set aside, now?"""
    state, name = desk.state, worker.info.worker_id
    for job_id, count in _counted(standing).items():
        job = state.jobs.get(job_id)
        if job is None or count < TASKS or job_id in worker.barred or not _others_can(desk, job, worker):
            continue
        failed = [key.words for key, fault in standing.faults.items() if _counts(fault, key, job_id)]
        why = f"Of this job, {_several(failed)} failed on it and on no other worker."
        _put(desk, name, job_id, Aside(why))
    its_own = {key: fault for key, fault in standing.faults.items() if fault.cause is not Cause.OUT_OF_MEMORY}
    known = Counter(key.job_id for key, fault in its_own.items() if fault.counts)
    restored = worker.barred - {key.job_id for key in standing.faults}
    bad = [job_id for job_id, count in known.items() if count >= TASKS] + list(restored)
    recent = [key for key, f in its_own.items() if f.counts and f.fresh and desk.now - f.when <= WINDOW]
    several = len(recent) >= TASKS_OF_ANY and len({key.job_id for key in recent}) > 1
    if (len(bad) >= JOBS or several) and all(_others_can(desk, job, worker) for job in state.jobs.values()):
        jobs = len({key.job_id for key in its_own} | restored)
        why = (
            f"Tasks of {jobs} jobs failed on it and on no other worker. It is tested before it renders again."
        )
        _put(desk, name, None, Aside(why))


def _counted(standing: Standing) -> Counter[str]:
    return Counter(key.job_id for key, fault in standing.faults.items() if fault.counts)


def _counts(fault: Fault, key: TaskKey, job_id: str) -> bool:
    return fault.counts and key.job_id == job_id


def _several(words: list[str]) -> str:
    shown = words if len(words) <= 3 else [*words[:2], f"{len(words) - 2} more"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]


def _forget(state: State, standing: Standing, now: float) -> None:
    """Failures that nobody proved of tasks that are not open any more, and those that are long past."""
    for key, fault in list(standing.faults.items()):
        job = state.jobs.get(key.job_id)
        gone = job is None and now - fault.when > WINDOW
        if gone or (not fault.proved and (job is None or key not in job.tasks)):
            del standing.faults[key]


def _still(desk: Desk, worker_id: str, job_id: str) -> bool:
    """Whether what a worker was set aside for, of a job, still holds."""
    job, worker = desk.state.jobs.get(job_id), desk.state.workers.get(worker_id)
    if job is None:
        return False
    faults = desk.state.standing.get(worker_id, Standing()).faults
    of_job = [fault for key, fault in faults.items() if key.job_id == job_id]
    if any(not fault.counts for fault in of_job) and sum(fault.counts for fault in of_job) < TASKS:
        return False  # some were the tasks' own fault
    return worker is None or _others_can(desk, job, worker)


def _others_can(desk: Desk, job: Job, worker: Worker) -> bool:
    """Whether other workers are there for whatever of the job this one could do."""
    device = job.settings.device
    if not (can_render(worker, device) and meets(worker, job.control.needs, device)):
        return True
    others = [
        other
        for other in desk.roster.offering(job, {worker.info.worker_id})
        if can_render(other, device) and meets(other, job.control.needs, device)
    ]
    alike = {_asks(job, task): task for task in job.tasks.values()}  # what one asks, all of it do
    mine = (task for task in alike.values() if may_take(job, task, worker))
    return bool(others) and all(any(may_take(job, task, other) for other in others) for task in mine)


def _asks(job: Job, task: Task) -> tuple[object, ...]:
    """All that decides who may take a task."""
    frame = None if task.key.frame is None else job.frames[task.key.frame]
    if frame is None:
        return task.key.kind, task.memory, task.host_memory
    memory = (task.memory, task.host_memory)
    return task.key.kind, memory, frame.render_class, frame.device, frozenset(frame.foreign)


def _probe_if_due(desk: Desk, worker_id: str, aside: Aside) -> None:
    worker = desk.state.workers.get(worker_id)
    if worker is None or worker.attempt is not None or worker.probing or worker.info.away:
        return
    relapses = desk.state.standing.get(worker_id, Standing()).relapses
    patience = min(FIRST_PROBE * 2 ** min(aside.probes + relapses, 10), LAST_PROBE)
    if desk.now - aside.since >= patience:
        worker.probing = True
        desk.worker_is(worker)
        desk.out.append(do.ProbeWorker(worker_id))


def _put(desk: Desk, worker_id: str, job_id: str | None, aside: Aside) -> None:
    aside.since = desk.now
    desk.state.aside[worker_id, job_id] = aside
    desk.out.append(do.WorkerSetAside(worker_id, job_id, aside.why, aside.probes))
    _tell(desk, worker_id)


def _lift(desk: Desk, worker_id: str, job_id: str | None) -> None:
    del desk.state.aside[worker_id, job_id]
    desk.out.append(do.WorkerSetAside(worker_id, job_id, None))
    _tell(desk, worker_id)


def _tell(desk: Desk, worker_id: str) -> None:
    worker = desk.state.workers.get(worker_id)
    if worker is not None:
        joined(desk.state, worker)
        desk.worker_is(worker)
        desk.unsure |= desk.state.jobs.keys()


def _with(state: State, key: TaskKey) -> Iterator[tuple[str, Fault]]:
    """Workers that a task failed on."""
    for name, standing in state.standing.items():
        if key in standing.faults:
            yield name, standing.faults[key]
