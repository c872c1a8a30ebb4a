"""How long a task may go without moving, as the other frames of its job showed.

It goes with the order: the worker kills a render process that neither counts nor computes for so long. It
is a multiple of the longest time that any of the job's tasks of its kind went without moving and still did
well, or, after a restart, of what its frames take in all; never less than `SHORTEST`, nor more than the
worker's own patience. Nothing is known at first: then that counts. After each failure of a task it is
twice as long, so that one heavy frame among light ones is not taken for a hang three times.
"""

from __future__ import annotations

from farm.dispatch.state import Attempt, Job
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Progress

SHORTEST, LONGEST = 60.0, 900.0
#: A frame may be so many times as heavy as all before it. Of its longest stillness, and of all it takes.
OF_STILLNESS, OF_WHOLE = 5.0, 3.0


def moved(attempt: Attempt, progress: Progress, now: float) -> None:
    """An attempt counted on."""
    attempt.still = max(attempt.still, now - attempt.moved)
    attempt.progress, attempt.moved = progress, now


def learn_stillness(job: Job, attempt: Attempt, now: float) -> None:
    """An attempt did well that was watched from its start: its longest stillness was none of a hang."""
    if attempt.watched:
        longest = max(attempt.still, now - attempt.moved)
        kind = attempt.key.kind
        job.stillness[kind] = max(job.stillness.get(kind, 0.0), longest)


def patience_for(job: Job, key: TaskKey) -> float | None:
    """Seconds without a move after which this task is said to hang; None while nothing is known."""
    if key.kind in job.stillness:
        known = OF_STILLNESS * job.stillness[key.kind]
    elif key.kind in (TaskKind.FRAME, TaskKind.TILE) and job.costs.seen:
        known = OF_WHOLE * (job.costs.load + job.costs.whole)
    else:
        return None
    task = job.tasks.get(key)
    doubled = 0 if task is None else min(task.failures, 10)
    return min(max(known, SHORTEST) * 2.0**doubled, LONGEST)
