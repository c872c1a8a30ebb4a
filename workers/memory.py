"""Out of memory, in words that name how much there was."""

from __future__ import annotations

from dataclasses import dataclass

from farm.domain.work import Cause
from workers import shortage
from workers.failures import AttemptFailed


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that a worker has: of its machine, or the container around it, and of its GPU (0: none)."""

    host: int
    gpu: int


def of_host(failed: AttemptFailed) -> bool:
    """Whether it was the machine's memory that ran out, and not the GPU's."""
    return failed.cause is Cause.OUT_OF_MEMORY and shortage.GPU not in failed.what


def worded(failed: AttemptFailed, room: Room) -> str:
    """What happened; where memory ran out, with what was used of it and what this worker has."""
    if failed.cause is not Cause.OUT_OF_MEMORY:
        return failed.what
    if shortage.GPU in failed.what:
        return f"{failed.what} This worker's GPU has {_gb(room.gpu)}." if room.gpu else failed.what
    used = f" It used {_gb(failed.peak_memory)} at most;" if failed.peak_memory else ""
    return f"{failed.what}{used} {'this' if used else 'This'} worker has {_gb(room.host)}."


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
