"""Which process is meant: a pid alone may have been given to another one since."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_PROC = Path("/proc")


class Identity(BaseModel):
    """A process by its pid, its start in clock ticks since boot, and that boot."""

    model_config = ConfigDict(frozen=True)

    pid: int
    ticks: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> Identity:
        """Raises ProcessLookupError where there is none."""
        return cls(pid=pid, ticks=int(_stat(pid)[19]), boot=_boot())

    @property
    def alive(self) -> bool:
        """Whether this very process lives; one that has ended and waits to be reaped does not."""
        try:
            fields = _stat(self.pid)
        except ProcessLookupError:
            return False
        return int(fields[19]) == self.ticks and fields[0] not in "ZX" and self.boot == _boot()

    def signal(self, number: int) -> None:
        """Send a signal, if this very process lives."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            # The handle names one process for good, so the check below cannot be outrun.
            if self.alive:
                _send(handle, number)
        finally:
            os.close(handle)


def session(leader: int) -> Iterator[int]:
    """Pids of the session that `leader` started, without those that wait to be reaped."""
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                fields = _stat(int(entry.name))
            except ProcessLookupError:
                continue
            if int(fields[3]) == leader and fields[0] not in "ZX":
                yield int(entry.name)


def _send(handle: int, number: int) -> None:
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on: state, ppid, pgrp, session … [19] is the start."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError) as error:
        raise ProcessLookupError(pid) from error
    return text.rpartition(")")[2].split()


def _boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
