"""A process and all that it started: what they use, and their end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

import psutil

_POLL_SECONDS = 0.01


def members(pid: int) -> list[psutil.Process]:
    """The process ``pid`` and its descendants that live now; empty where it is gone."""
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def memory(pid: int) -> int:
    """Resident bytes of the family."""
    total = 0
    for process in members(pid):
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def computed(pid: int) -> float:
    """CPU seconds that the living family has used."""
    total = 0.0
    for process in members(pid):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def strike(pid: int, *, wrapped: bool = False) -> list[psutil.Process]:
    """Kill the process group ``pid`` and whoever of the family has left it; gives back the struck.

    The family is listed first: children of a dead process belong to somebody else. A wrapper
    (``wrapped``) is spared while it has children: it ends by itself, and reaps them. Killed, it would
    leave them to a first process that, in many containers, reaps nobody.
    """
    family = members(pid)
    if wrapped and len(family) > 1:
        family = family[1:]
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    for process in family:
        with contextlib.suppress(psutil.Error):
            process.kill()
    return family


async def gone(family: list[psutil.Process], seconds: float) -> None:
    """Wait until none of ``family`` runs any more (zombies of others do not), at most ``seconds``."""
    for _ in range(round(seconds / _POLL_SECONDS)):  # no event tells of processes that are not ours
        if not any(map(_runs, family)):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
