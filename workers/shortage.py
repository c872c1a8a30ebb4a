"""Which memory ran out, from the words of Blender, of its libraries and of GPU drivers.

Standard library only, Python 3.11 syntax: it also runs inside older Blenders' own Pythons.

Cycles says “System is out of GPU memory” and, where it had already begun to put textures into the machine's
memory, “System is out of GPU and shared host memory” (intern/cycles/device/device.cpp); what fails in a
kernel's queue ends in CUDA's own “Out of memory in …” (device/cuda/queue.cpp).
"""

from __future__ import annotations

import re

_GPU = re.compile(
    r"out of (gpu|device|graphics|video)( and (shared )?host)? memory|"
    r"(CUDA|HIP|OPTIX|ZE_RESULT)_ERROR_(\w+_)?OUT_OF_(\w+_)?MEMORY|"
    r"out of memory in (cuda|hip|optix|metal|oneapi|cu[A-Z]|hip[A-Z])",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"out of memory|bad_alloc|malloc returns null|calloc returns null|MemoryError|Cannot allocate memory",
    re.IGNORECASE,
)
GPU, HOST = "GPU memory", "memory"


def missing(text: str) -> str:
    """`GPU` or `HOST`, as people call it, where ``text`` says that it ran out; empty where it does not."""
    if _GPU.search(text):
        return GPU
    return HOST if _HOST.search(text) else ""
