"""The clock of the machine is set back: what waits for a time waits no longer than it was to."""

from __future__ import annotations

from farm.dispatch.desk import Desk

#: Less than so many seconds is how clocks are, and how messages overtake each other.
_NOTHING = 1.0


def at(desk: Desk, now: float) -> None:
    """It is ``now``. Where that is long before what it was, all that is remembered of times moves with it.

    Where the clock is set forward, what waits has waited: a frame may be begun anew a minute too early.
    """
    back, desk.now = desk.now - now, now
    if back > _NOTHING:
        _move(desk, back)


def _move(desk: Desk, back: float) -> None:
    state = desk.state
    for job in state.jobs.values():
        desk.boards[job.id].set_back(back)
        for frame in job.frames.values():
            if frame.stranded is not None:
                frame.stranded -= back
    state.cramped = {key: None if since is None else since - back for key, since in state.cramped.items()}
    for aside in state.aside.values():
        aside.since -= back
    for fault in (fault for standing in state.standing.values() for fault in standing.faults.values()):
        fault.when -= back
    for attempt in (*state.attempts.values(), *state.lost.values()):
        attempt.started -= back
        attempt.moved -= back
        attempt.paid -= back
        if attempt.rendering is not None:
            attempt.rendering -= back
