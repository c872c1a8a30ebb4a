"""Where things lie in storage. Each attempt writes under a key of its own; the commit picks one."""

from __future__ import annotations

from farm.domain.task import TaskKey


def blob(sha256: str) -> str:
    """Uploaded bytes, by content."""
    return f"blobs/{sha256[:2]}/{sha256}"


def job_prefix(job_id: str) -> str:
    """Folder of all that a job's attempts store; ends in a slash."""
    return f"jobs/{job_id}/"


def attempt_prefix(task: TaskKey, attempt_id: str) -> str:
    """Folder of one attempt: ``jobs/k3m9x2ab/frames/0012/whole/a7f…/``, ends in a slash."""
    if task.frame is None:
        return f"{job_prefix(task.job_id)}{task.last}/{attempt_id}/"
    what = f"tile-{task.tile:04d}" if task.tile is not None else task.last
    return f"{job_prefix(task.job_id)}frames/{task.frame:04d}/{what}/{attempt_id}/"
