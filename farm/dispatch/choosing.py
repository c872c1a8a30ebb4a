"""Who is given what: the next job, of it the most urgent task, and for that the best of the free workers.

Priority is strict. Of jobs that are equal there, the user with the fewest workers at work comes first,
then the one who was served longer ago, then the older job (`farm.dispatch.lanes`). Of a job, what frees
pieces comes before what makes new ones. A worker that has a frame loaded is given more of it, as a tile
costs a fraction of a second there and a whole synchronisation elsewhere; one that has the scene is
preferred to one that has not. But no worker waits for what would suit it better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from farm.dispatch.board import Board, Drawer, Place
from farm.dispatch.demand import has_enough
from farm.dispatch.dependencies import held_up, waits_for
from farm.dispatch.desk import Desk
from farm.dispatch.fitness import fits_into, memory_on, trusts
from farm.dispatch.planned import begin
from farm.dispatch.policy import can_render, class_on, fits, in_turn, meets
from farm.dispatch.roster import Kind
from farm.dispatch.starting import open_next, start
from farm.dispatch.state import Job, Task, Worker
from farm.domain.states import JobState

#: Added to how cold a worker is that has a frame loaded of which more waits: it is wanted there.
_WANTED = 10
#: Frames of a job, at most, that are open and wait for other jobs.
_PASSED_OVER = 64


def give_out(desk: Desk, now: float) -> None:
    """Give the free workers what may be begun, until one of both is at its end."""

    def begin_one(job: Job, thrifty: bool) -> bool | None:
        return _begin_one(desk, job, now, thrifty)

    while desk.lanes.serve(begin_one, lambda: desk.roster.free > 0):
        # A worker that was given something else leaves to others the frames in order that were kept for it.
        if not desk.roster.free or not any(job.bound for job in desk.state.jobs.values()):
            return


def may_begin(desk: Desk, job: Job, now: float) -> bool:
    """May anything of the job be begun, as far as its users' wishes go?"""
    control = job.control
    if control.paused or (control.start is not None and control.start > now):
        return False
    if control.workers is not None and desk.boards[job.id].running >= control.workers:
        return False
    limit = desk.state.limits.get(job.owner)
    if limit is not None and desk.lanes.at_work[job.owner] >= limit:
        return False
    return not control.after or waits_for(desk.state, job) is None


def _begin_one(desk: Desk, job: Job, now: float, thrifty: bool) -> bool | None:
    """Whether something of the job was begun; None: it could be, but it has enough workers as it is."""
    if not may_begin(desk, job, now):
        return False
    if thrifty and has_enough(desk, job):
        return None
    if job.state is JobState.WAITING:
        begin(desk, job)
        if job.id not in desk.state.jobs:
            return False
    found = _next(desk, job, now)
    if found is not None:
        start(desk, job, *found, now)
    return found is not None


def _next(desk: Desk, job: Job, now: float) -> tuple[Task, Worker] | None:
    """The job's most urgent task that a free worker may take, of the next frame if need be."""
    board = desk.boards[job.id]
    board.release(now)
    if not board.waiting and not may_open(desk, job):
        return None
    kinds = desk.roster.free_kinds()
    for _, task in board.urgent:
        able = [kind for kind in kinds if fits_into(job, task, kind.sample)]
        if worker := _best(desk, job, task, able, now):
            return task, worker
    if board.waiting and (found := _warm(desk, job, board, now) or _by_place(desk, job, board, kinds, now)):
        return found
    device, needs = job.settings.device, job.control.needs
    able = [kind for kind in kinds if can_render(kind.sample, device) and meets(kind.sample, needs, device)]
    if not any(_may_serve(desk, job, worker) for _, worker in _workers(able, job)):
        return None
    while may_open(desk, job):
        open_next(desk, job)
        if found := _by_place(desk, job, board, kinds, now):
            return found
    return None


def _warm(desk: Desk, job: Job, board: Board, now: float) -> tuple[Task, Worker] | None:
    """A task of a frame that a free worker has loaded."""
    for worker in desk.roster.at(job.id):
        if worker.frame is None:
            continue
        for task in desk.tasks_of(job, worker.frame[1]):
            if board.is_filed(task) and _may_take_now(desk, job, task, worker, now):
                return task, worker
    return None


def _by_place(
    desk: Desk, job: Job, board: Board, kinds: Collection[Kind], now: float
) -> tuple[Task, Worker] | None:
    """The first task that any of these workers may take, with the best for it."""
    first: tuple[Place, Task, Worker] | None = None
    for drawer, tasks in board.drawers.items():
        able = [kind for kind in kinds if _suits(job, drawer, kind.sample)]
        if not able:
            continue
        for place, task in tasks:
            if first is not None and first[0] < place:
                break
            if _held_up(desk, job, task):
                continue
            if worker := _best(desk, job, task, able, now):
                first = place, task, worker
                break
    return None if first is None else first[1:]


def _suits(job: Job, drawer: Drawer, sample: Worker) -> bool:
    """Whether workers as this one can do what lies in a drawer."""
    device, settled, (memory, of_host) = drawer
    if not can_render(sample, device) or not meets(sample, job.control.needs, device):
        return False
    if memory_on(sample, device) < memory or sample.info.memory < of_host:
        return False
    return settled is None or class_on(sample, device) in (None, settled)


def _best(desk: Desk, job: Job, task: Task, kinds: Collection[Kind], now: float) -> Worker | None:
    """Of the free workers that may take the task, the one that has most of it loaded."""
    best: Worker | None = None
    least = 0
    for coldness, worker in _workers(kinds, job):
        if best is not None and least <= coldness:
            break
        cold = coldness + _wanted(desk, worker)
        if (best is None or cold < least) and _may_take_now(desk, job, task, worker, now):
            best, least = worker, cold
    return best


def _workers(kinds: Collection[Kind], job: Job) -> Iterator[tuple[int, Worker]]:
    """The free workers of these kinds with how cold they are for the job, the warmest first.

    0: its scene is loaded; 1: none is; 2: another is, which would be given up.
    """
    for kind in kinds:
        for worker in kind.free.get(job.scene_id, {}).values():
            yield 0, worker
    for kind in kinds:
        for worker in kind.free.get(None, {}).values():
            yield 1, worker
    for kind in kinds:
        for scene_id, workers in kind.free.items():
            if scene_id is not None and scene_id != job.scene_id:
                for worker in workers.values():
                    yield 2, worker


def _wanted(desk: Desk, worker: Worker) -> int:
    """Whether more waits of the frame that the worker has loaded."""
    if worker.frame is None or worker.frame[0] not in desk.boards:
        return 0
    job_id, frame = worker.frame
    return _WANTED if desk.boards[job_id].has_waiting(frame) else 0


def _may_serve(desk: Desk, job: Job, worker: Worker) -> bool:
    return trusts(job, worker) and in_turn(job, worker, desk.state.workers)


def _may_take_now(desk: Desk, job: Job, task: Task, worker: Worker, now: float) -> bool:
    if not in_turn(job, worker, desk.state.workers):
        return False
    if not fits(job, task, worker, _others(desk, job, task, worker), now):
        return False
    return not _held_up(desk, job, task)


def _held_up(desk: Desk, job: Job, task: Task) -> bool:
    """Whether the frame of a task waits for that of another job."""
    return task.key.frame is not None and waits_for(desk.state, job, task.key.frame) is not None


def _others(desk: Desk, job: Job, task: Task, worker: Worker) -> list[Worker]:
    """Who else may do a task on which this worker failed: one of each kind, of those that did not."""
    if worker.info.worker_id not in task.failed_on:
        return []
    frame = None if task.key.frame is None else job.frames.get(task.key.frame)
    return desk.roster.offering(job, task.failed_on if frame is None else task.failed_on | frame.foreign)


def may_open(desk: Desk, job: Job) -> bool:
    """May the job's next frame be opened?"""
    plan, board = job.plan, desk.boards[job.id]
    if plan is None or job.opened >= plan.count or (plan.in_order and job.frames):
        return False
    workers = max(len(desk.state.workers), 1)
    if len(board.held) >= workers:  # storage is away, or disks are full: the rest would fare no better
        return False
    number = plan.frame_at(job.opened)
    if waits_for(desk.state, job, number) is not None and not _passes_over(desk, job):
        return False
    if job.proves is None and job.adds_to is None:
        return True
    # What waits for a worker of its class is opened all the same, so that its patience can end, but it
    # is not to fill the memory.
    return number in job.ahead and board.waiting < workers


def _passes_over(desk: Desk, job: Job) -> bool:
    """Whether frames that wait for other jobs are opened for the sake of one after them that does not.

    So one that failed there holds up no other. Those opened wait; they are looked at whenever the job is
    asked, so they are few.
    """
    if job.plan is None or job.plan.in_order:
        return False
    filed = (task for tasks in desk.boards[job.id].drawers.values() for _, task in tasks)
    waiting = {task.key.frame for task in filed if _held_up(desk, job, task)}
    return held_up(desk.state, job, _PASSED_OVER - len(waiting)) is not None
