"""Whether there is other work for the workers: then each second that a cut costs is taken from that."""

from __future__ import annotations

from farm.dispatch.desk import Desk
from farm.dispatch.state import Job
from farm.domain.states import JobState

#: What is left to each worker of a job has to be so many times what a further one pays to come to it.
_WORTH = 8.0
#: So many workers find out what a frame takes that is cut, where other work waits.
_FEW = 2
#: Seconds of a frame of which nothing is known yet.
_UNKNOWN = 60.0


def others_wait(desk: Desk, job: Job) -> bool:
    """Whether jobs that are not less urgent than this one have so much that could be begun that no worker
    would idle for as long as a whole frame of this one takes.
    """
    enough = job.costs.whole * max(1, len(desk.state.workers))
    for other in desk.state.jobs.values():
        if other is not job and other.control.priority >= job.control.priority:
            enough -= to_begin(desk, other)
            if enough <= 0:
                return True
    return False


def to_begin(desk: Desk, job: Job) -> float:
    """Seconds of what could be begun of a job now, on a worker of speed 1; a frame's worth, where nothing
    was measured.
    """
    plan, control, board = job.plan, job.control, desk.boards[job.id]
    if plan is None or job.state is not JobState.RENDERING or control.paused or control.after:
        return 0.0
    if plan.in_order or control.workers is not None or job.owner in desk.state.limits:
        return 0.0  # not for any number of workers
    each = job.costs.whole or _UNKNOWN
    waiting = sum(len(tasks) for tasks in board.drawers.values())
    return each * (plan.count - job.opened + waiting / max(1, plan.pieces_per_frame))


def may_come(desk: Desk, job: Job) -> int:
    """How many workers could be at a job soon: idle ones, its own, those of jobs of which all is begun."""
    boards = desk.boards
    own = boards[job.id].running
    return (
        desk.roster.free
        + own
        + sum(
            boards[other.id].running
            for other in desk.state.jobs.values()
            if other is not job and other.plan is not None and other.opened >= other.plan.count
        )
    )


def has_enough(desk: Desk, job: Job) -> bool:
    """Whether a worker that has not opened the job's scene would do better with another job of its user.

    It would have to open the scene, and to prepare a frame that others prepare as well: too much for what
    is left to each of them.
    """
    plan, board, costs = job.plan, desk.boards[job.id], job.costs
    if plan is None or not board.running or job.proves is not None or board.urgent:
        return False
    if any(job.scene_id in kind.free for kind in desk.roster.free_kinds()):
        return False
    cut = plan.pieces_per_frame > 0
    if not costs.seen:
        return cut and plan.count == 1 and board.running >= _FEW
    joining = costs.load + (costs.sync if cut else 0.0)
    return to_begin(desk, job) < (board.running + 1) * _WORTH * joining
