"""A job that failed or was cancelled, as it is taken up again."""

from __future__ import annotations

from farm.dispatch import earlier
from farm.dispatch.recovery import load_job
from farm.dispatch.state import Frame, Job, Piece
from farm.domain.states import TaskState
from farm.store import Connection, frames
from farm.store.jobs import JobRow


def load_again(connection: Connection, row: JobRow) -> Job:
    """The job in the state in which it ended, with its frames that failed or were cancelled, in theirs.

    They are as frames are that are opened: nothing is left of what was made of them but an earlier job's
    pieces. `Job.tasks` is empty: the core opens tasks for them again, which gives those that have a row
    a fresh one; what is done of the job stays done.
    """
    job = load_job(connection, row)
    rows = frames.in_states(connection, job.id, [TaskState.FAILED, TaskState.CANCELLED])
    left = earlier.look(connection, job, [frame.frame for frame in rows])
    taken = 0 if job.plan is None else job.plan.taken
    for frame in rows:
        found = left[frame.frame]
        pieces = {tile: Piece(ref) for tile, ref in found.pieces.items() if tile < taken}
        job.frames[frame.frame] = Frame(frame.frame, frame.state, pieces, found.render_class)
    return job
