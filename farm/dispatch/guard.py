"""The guard behind the workers' own vigil: no worker holds a task for ever.

A worker that answers, but tells of no move of an attempt for ten times as long as is known of its job, and
`GRACE` more, watches over its child no more. The attempt is killed and counts as a hang. Until something is
known of the job the worker's own patience is all there is.
"""

from __future__ import annotations

from farm.dispatch import instructions as do
from farm.dispatch.attempts import failed
from farm.dispatch.desk import Desk
from farm.dispatch.patience import patience_for
from farm.dispatch.state import Attempt, State
from farm.domain.work import Cause, Failure

#: Longer than whatever a worker lets pass: an hour in which a child computes and counts nothing, and a
#: quarter of one in which a worker waits for storage.
TIMES, GRACE = 10, 4500.0
_EVERY = 5.0
#: Where nobody looked for so long, it was this process, or the whole machine, that stood still.
_ASLEEP = 60.0


def tend(desk: Desk) -> None:
    """Kill what has told of no move for far too long."""
    state, now = desk.state, desk.now
    since = now - state.watched
    if 0 <= since < _EVERY:
        return
    state.watched = now
    if not 0 <= since < _ASLEEP:
        _begin_to_watch(state, now)
        return
    for attempt in list(state.attempts.values()):
        if attempt.id in state.attempts:  # the end of another may have been its end too
            _check(desk, attempt, now)


def _begin_to_watch(state: State, now: float) -> None:
    for attempt in state.attempts.values():
        attempt.moved, attempt.watched = now, False


def _check(desk: Desk, attempt: Attempt, now: float) -> None:
    still = now - max(attempt.moved, attempt.started)
    if still <= GRACE:
        return
    patience = patience_for(desk.state.jobs[attempt.key.job_id], attempt.key)
    if patience is None or still <= TIMES * patience + GRACE:
        return
    what = f"{attempt.worker_id} answers, but has told of no progress for {still / 60:.0f} minutes."
    cure = "If it happens again there, restart that worker."
    failed(desk, attempt.id, Failure(cause=Cause.HANG, what=what, cure=cure), now, free=False)
    desk.out.append(do.CancelAttempt(attempt.worker_id, attempt.id))
