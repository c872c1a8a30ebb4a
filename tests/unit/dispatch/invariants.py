"""What must hold of how the core chooses, looked at the slow way: every worker, every job, every task."""

from __future__ import annotations

from collections import Counter

from farm.dispatch.board import Board
from farm.dispatch.choosing import may_begin, may_open
from farm.dispatch.core import Core
from farm.dispatch.dependencies import waits_for
from farm.dispatch.desk import Desk
from farm.dispatch.fitness import serves, trusts
from farm.dispatch.policy import can_render, fits, in_turn, meets
from farm.dispatch.state import Job, Worker
from farm.domain.states import JobState
from farm.domain.task import TaskKey


def check_counts(core: Core) -> None:
    """What the desk keeps in step is what it would find if it looked at everything."""
    desk, anew = core._desk, Desk(core.state, lambda: "")
    assert desk.boards.keys() == anew.boards.keys()
    for job_id, board in desk.boards.items():
        check_board(board, anew.boards[job_id])
    at_work = {owner: n for owner, n in desk.lanes.at_work.items() if n}
    assert at_work == {owner: n for owner, n in anew.lanes.at_work.items() if n}
    assert desk.lanes._lanes == anew.lanes._lanes
    assert desk.after == anew.after
    assert core.state.ended.keys() <= desk.after.keys(), "an ended job is remembered that nobody needs"
    assert desk.roster.free == anew.roster.free
    for worker in core.state.workers.values():
        assert worker.attempt is None or desk.roster.holder(worker.attempt) == worker.info.worker_id


def check_board(board: Board, anew: Board) -> None:
    assert board.running == anew.running
    assert _waiting(board) == _waiting(anew)
    assert board.of_frame == anew.of_frame
    for drawer, tasks in board.drawers.items():
        assert all(board._drawer(task) == drawer for _, task in tasks), "a task lies in the wrong drawer"
        assert tasks == sorted(tasks, key=lambda each: each[0])


def _waiting(board: Board) -> set[TaskKey]:
    """Keys of all that wait; whether one is held depends on how late it is."""
    filed = [task.key for tasks in (board.urgent, *board.drawers.values()) for _, task in tasks]
    assert len(filed) == len(set(filed))
    assert not board.held.keys() & set(filed)
    return {*filed, *board.held}


def check_choice(core: Core, begun: list[tuple[str, str]], before: Counter[str], now: float) -> None:
    """After work was given out: no free worker could be given anything, and nobody got it out of turn.

    ``begun`` are jobs and workers in the order in which they were given to each other; ``before`` counts
    what ran of each job until then.
    """
    state = core.state
    for worker in state.workers.values():
        if worker.attempt is None and serves(worker):
            for job in state.jobs.values():
                assert not could_take(core, job, worker, now), f"{job.id} waits beside an idle worker"
    at_work: Counter[str] = Counter()
    for job_id, running in before.items():
        if job_id in state.jobs:
            at_work[state.jobs[job_id].owner] += running
    for job_id, worker_id in begun:
        job, worker = state.jobs[job_id], state.workers[worker_id]
        for other in state.jobs.values():
            if other.control.priority > job.control.priority:
                assert not could_take(core, other, worker, now), f"{job_id} goes before {other.id}"
            elif other.control.priority == job.control.priority and other.owner != job.owner:
                fewer = core._desk.lanes.at_work[other.owner] < at_work[job.owner]
                assert not (fewer and could_take(core, other, worker, now)), "an unfair share"
        at_work[job.owner] += 1


def could_take(core: Core, job: Job, worker: Worker, now: float) -> bool:
    """Whether the worker could be given something of the job, were it free."""
    desk, workers = core._desk, core.state.workers
    if not may_begin(desk, job, now):
        return False
    attempt, worker.attempt = worker.attempt, None
    try:
        if job.state is JobState.WAITING and job.plan is None:  # it is to be inspected, by anyone
            return trusts(job, worker)
        if not in_turn(job, worker, workers):
            return False
        for task in job.tasks.values():
            free = task.key.frame is None or waits_for(core.state, job, task.key.frame) is None
            if free and fits(job, task, worker, workers.values(), now):
                return True
        device, needs = job.settings.device, job.control.needs
        able = can_render(worker, device) and meets(worker, needs, device) and trusts(job, worker)
        return able and job.proves is None and job.adds_to is None and may_open(desk, job)
    finally:
        worker.attempt = attempt
