"""What is accepted of a job's control, and still worth a sentence: it may do other than one expects."""

from __future__ import annotations

from farm.domain.control import Control, Needs
from farm.domain.job import Device
from farm.domain.states import JobState
from farm.domain.telling import memory, quoted
from farm.domain.work import WorkerInfo
from farm.store import Connection, jobs, workers


def of(connection: Connection, control: Control, device: Device, now: float) -> tuple[str, ...]:
    """Sentences, none where all is as it seems."""
    notes = []
    if control.start is not None and control.start <= now:
        notes.append("The start that was asked for is over: the job begins as soon as it is its turn.")
    notes += [note for name in control.after if (note := _never(connection, name))]
    if note := _unmet(control.needs, device, [row.info for row in workers.listed(connection)]):
        notes.append(note)
    return tuple(notes)


def _never(connection: Connection, name: str) -> str:
    job = jobs.get(connection, name)
    if job is None or job.state not in (JobState.FAILED, JobState.CANCELLED):
        return ""
    return (
        f"Job {name}, to be waited for, is {job.state}: this one waits until it is done after all "
        f"(farm retry {name})."
    )


def _unmet(needs: Needs, device: Device, there: list[WorkerInfo]) -> str:
    """The sentence where no worker that is here now meets ``needs``."""
    wanted = [f"{memory(needs.memory)} of memory"] if needs.memory else []
    if needs.tags:
        wanted.append(f"the {'tag' if len(needs.tags) == 1 else 'tags'} {quoted(needs.tags)}")
    met = any(_memory(info, device) >= needs.memory and set(needs.tags) <= set(info.tags) for info in there)
    if met or not wanted:
        return ""
    return f"No worker of the farm has {' and '.join(wanted)} now: the job waits for one that does."


def _memory(info: WorkerInfo, device: Device) -> int:
    """Bytes of what renders there: of the GPU, but where the CPU was asked for."""
    return info.memory if device is Device.CPU else info.render_memory
