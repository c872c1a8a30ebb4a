"""Why a result, an attempt or a job cannot be taken, in words."""

from __future__ import annotations

from farm.dispatch.state import Frame, Job
from farm.domain.job import Device
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure, Result, Role

#: Results that are of their frame's render class, what they are, and what else is of it.
_OF_ITS_CLASS = {
    TaskKind.TILE: ("piece", "the rest of the frame"),
    TaskKind.FINISH: ("frame, so its worker says,", "its pieces"),
}


def refused(key: TaskKey, frame: Frame | None, result: Result) -> Failure | None:
    """Why a result that a worker calls a success cannot be committed; None where it can."""
    if key.kind is TaskKind.INSPECT:
        missing = result.report is None
    elif key.kind is TaskKind.TILE:
        missing = result.render_class is None or all(file.role is not Role.PIECE for file in result.files)
    elif key.kind is TaskKind.VERIFY:
        missing = result.proof is None or result.proof.frame != key.frame
    else:
        wanted = Role.VIDEO if key.kind is TaskKind.ENCODE else Role.OUTPUT
        missing = all(file.role is not wanted for file in result.files)
    if missing:
        return Failure(cause=Cause.BAD_RESULT, what=f"The worker sent nothing for {key.words}.")
    if frame is None or frame.render_class is None:
        return None
    settled = frame.render_class
    if result.proof is not None and result.proof.render_class != settled:
        return Failure(
            cause=Cause.WRONG_CLASS,
            what=f"The frame was verified by {result.proof.render_class}, and rendered by {settled}.",
            cure="A frame comes out the same only with the same build, device and kernel.",
        )
    if key.kind in _OF_ITS_CLASS and result.render_class != settled:
        this, others = _OF_ITS_CLASS[key.kind]
        return Failure(
            cause=Cause.WRONG_CLASS,
            what=f"This {this} was rendered by {result.render_class}, {others} by {settled}.",
            cure="Pieces of one frame must come from the same build, device and kernel.",
        )
    return None


def cannot_verify(job: Job, frame: Frame) -> str:
    """Why a frame is not verified, where no worker can do it."""
    if frame.render_class is None:
        return f"Job {job.proves} has no finished frame {frame.number} to compare with."
    return (
        f"No worker of this farm is {frame.render_class}, as the one that rendered this frame was, and "
        "only there would it come out the same. Start such a worker, then verify it again."
    )


def lost(what: str) -> Failure:
    """The end of an attempt that nobody is to blame for."""
    return Failure(cause=Cause.LOST, what=what, cure="It is rendered again.")


def no_device(device: Device) -> tuple[str, str]:
    """What is wrong, and the cure, where no worker has the device that a job asks for."""
    name = {Device.OPTIX: "OptiX", Device.CUDA: "CUDA"}.get(device, device.value)
    return (
        f"No worker of this farm has a GPU for {name}.",
        "Submit with --device auto or cpu, or start a worker on a machine that has one.",
    )


def too_big(had: int, *, allowed: bool) -> str:
    """The cure where no worker has enough memory. ``allowed``: also on other render classes."""
    other = "" if allowed else "let it be rendered on another render class (--other-class), "
    return (
        f"No worker that could render it has more than {gigabytes(had)}: {other}start a worker with more "
        "memory, or use smaller textures or less geometry."
    )


def gigabytes(bytes_: int) -> str:
    """Bytes for people."""
    return f"{bytes_ / 1e9:.1f} GB"


def last_line(log_tail: str) -> str:
    """The last line of a log that says something, at most 200 characters of it."""
    lines = [line.strip() for line in log_tail.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
