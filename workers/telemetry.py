"""Readings of the machine and its GPUs. Everything here answers at once, and never fails."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

_QUERY = "index,uuid,name,compute_cap,driver_version,memory.total,memory.used,utilization.gpu,temperature.gpu"
_MIB = 1024 * 1024
_CGROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60  # cgroup v1 writes a number near 2^63 where there is no limit


@dataclass(frozen=True)
class Gpu:
    """One GPU as its driver describes it. Memory in bytes, busy 0 to 100, None where it will not say."""

    index: int
    uuid: str
    name: str
    architecture: str  # sm_90; empty where unknown
    driver: str
    memory: int
    memory_used: int
    busy: int | None
    celsius: int | None


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


def gpus() -> list[Gpu]:
    """The NVIDIA GPUs that this process may use; none where there is no driver."""
    command = _nvidia_smi()
    if command is None:
        return []
    try:
        answer = subprocess.run(
            [command, f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if answer.returncode != 0:
        return []
    return visible(parse(answer.stdout), os.environ.get("CUDA_VISIBLE_DEVICES"))


def parse(text: str) -> list[Gpu]:
    """GPUs from the answer of ``nvidia-smi --query-gpu``; lines that do not read as one are left out."""
    found: list[Gpu] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(_QUERY.split(",")) or not cells[0].isdigit():
            continue
        index, uuid, name, capability, driver, memory, used, busy, celsius = cells
        found.append(
            Gpu(
                index=int(index),
                uuid=uuid,
                name=name,
                architecture=f"sm_{capability.replace('.', '')}" if capability[:1].isdigit() else "",
                driver=driver,
                memory=(_number(memory) or 0) * _MIB,
                memory_used=(_number(used) or 0) * _MIB,
                busy=_number(busy),
                celsius=_number(celsius),
            )
        )
    return found


def visible(gpus: list[Gpu], chosen: str | None) -> list[Gpu]:
    """Those that ``CUDA_VISIBLE_DEVICES`` leaves, in its order; nvidia-smi itself does not heed it."""
    if chosen is None:
        return gpus
    kept: list[Gpu] = []
    for name in filter(None, map(str.strip, chosen.split(","))):
        match = [gpu for gpu in gpus if name == str(gpu.index) or gpu.uuid.startswith(name)]
        if not match:
            break  # CUDA stops at the first that is not there
        kept.append(match[0])
    return kept


@functools.cache
def _nvidia_smi() -> str | None:
    return shutil.which("nvidia-smi")


def _number(text: str) -> int | None:
    try:
        return int(float(text))
    except ValueError:
        return None  # [N/A]


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
