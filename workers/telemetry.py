"""Readings of the machine. Everything here answers at once, and never fails."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60  # cgroup v1 writes a number near 2^63 where there is no limit


@dataclass(frozen=True)
class Host:
    """The machine now. Memory in bytes; load is the run queue of the last minute."""

    threads: int
    memory: int
    memory_free: int
    load: float


def host() -> Host:
    """Readings of this machine, or of the container that this process is confined to."""
    found = psutil.virtual_memory()
    limit = _cgroup_limit()
    return Host(
        threads=os.process_cpu_count() or 1,
        memory=min(found.total, limit),
        memory_free=min(found.available, max(0, limit - _cgroup_used())),
        load=os.getloadavg()[0],
    )


def _cgroup_limit() -> int:
    """Memory that the container allows, in bytes."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            return min(int((_CGROUP / name).read_text()), _UNLIMITED)
        except (OSError, ValueError):
            continue
    return _UNLIMITED


def _cgroup_used() -> int:
    """Memory that the container holds, in bytes, without the files that it merely remembers."""
    for used, stat, cached in (
        ("memory.current", "memory.stat", "inactive_file"),
        ("memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
    ):
        try:
            fields = dict(line.split() for line in (_CGROUP / stat).read_text().splitlines())
            return max(0, int((_CGROUP / used).read_text()) - int(fields.get(cached, 0)))
        except (OSError, ValueError):
            continue
    return 0
