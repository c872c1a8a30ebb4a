"""What Cycles can render on here, and choosing it so that it cannot fall back in silence.

Asked for a GPU that is not there, Blender renders on the CPU and reports success. So the device is
looked for first, enabled alone, and read back.
"""

from __future__ import annotations

import os
import platform
import re
from typing import Any

import bpy

from workers.child import Refusal
from workers.inside_blender.causes import NO_DEVICE
from workers.inside_blender.changes import Changes

GPU_KINDS = ("OPTIX", "CUDA", "HIP", "ONEAPI", "METAL")


def cpu_kernel() -> str:
    """The CPU kernel variant that Cycles picks: avx2, sse42 or neon.

    Cycles takes AVX2 where the CPU has it and ``CYCLES_CPU_NO_AVX2`` is not in the environment (with
    any value; intern/cycles/util/debug.cpp). ``system_info`` gives the CPU's part of that only.
    """
    import _cycles

    if platform.machine().lower() in ("arm64", "aarch64"):
        return "neon"
    found = re.search(r"CPU device capabilities:(.*)", _cycles.system_info())
    able = found is not None and "AVX2" in found[1].split()
    return "avx2" if able and "CYCLES_CPU_NO_AVX2" not in os.environ else "sse42"


def available() -> list[dict[str, str]]:
    """Every device Cycles could render on, as ``{"type": "OPTIX", "name": …}``; the CPU is last."""
    found = [{"type": kind, "name": name} for kind in GPU_KINDS for name in _names(kind)]
    return [*found, {"type": "CPU", "name": _cpu_name()}]


def _names(kind: str) -> list[str]:
    """Names of the devices of one kind; a kind this build does not know has none."""
    import _cycles

    try:
        return [device[0] for device in _cycles.available_devices(kind) if device[1] == kind]
    except ValueError:
        return []


def _cpu_name() -> str:
    names = _names("CPU")
    return names[0] if names else "CPU"


def choose(changes: Changes, device: str) -> str:
    """Make every scene render on ``device`` (CPU, OPTIX, CUDA …) and nothing else; returns its name.

    Raises `Refusal` (no-device) where it is not there or Blender does not take it.
    """
    if device == "CPU":
        for scene in bpy.data.scenes:
            changes.set(scene.cycles, "device", "CPU")
        return _cpu_name()
    names = _names(device)
    if not names:
        have = ", ".join(sorted({found["type"] for found in available()}))
        raise Refusal(
            NO_DEVICE,
            f"This worker has no {device} device: Cycles finds {have}.",
            "Check the GPU's driver with “farm doctor”, or render with --device cpu.",
        )
    preferences = bpy.context.preferences.addons["cycles"].preferences
    preferences.compute_device_type = device
    preferences.refresh_devices()
    for entry in preferences.devices:
        entry.use = entry.type == device
    used = [entry.name for entry in preferences.devices if entry.use]
    if preferences.compute_device_type != device or not used:
        raise Refusal(NO_DEVICE, f"Blender did not take the {device} device.", "Check the GPU's driver.")
    for scene in bpy.data.scenes:
        changes.set(scene.cycles, "device", "GPU")
    return ", ".join(used)


def rendered_on(scene: Any) -> str:
    """The kind of device that ``scene`` renders on as set up now, read back from Blender."""
    if scene.cycles.device == "CPU":
        return "CPU"
    return str(bpy.context.preferences.addons["cycles"].preferences.compute_device_type)
