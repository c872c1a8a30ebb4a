"""What the reference renders on: said at the start, chosen before the render, read back after it."""

from __future__ import annotations

import os
import platform
from typing import Any

import bpy

from workers.child import Refusal
from workers.protocol import Ready

_GPUS = ("OPTIX", "CUDA", "HIP", "ONEAPI", "METAL")


def ready() -> Ready:
    """This process's Blender, CPU kernel and devices."""
    build = bpy.app.build_hash
    return Ready(
        program="reference",
        version=".".join(map(str, bpy.app.version)),
        build=build.decode() if isinstance(build, bytes) else str(build),
        kernel=_kernel(),
        devices=[{"type": kind, "name": name} for kind in (*_GPUS, "CPU") for name in _named(kind)],
    )


def choose(device: str) -> str:
    """Let all scenes render on ``device`` alone; its name. Raises `Refusal` (no-device)."""
    names = _named(device)
    if not names:
        raise Refusal("no-device", f"Cycles finds no {device} device here.", "Check it with “farm doctor”.")
    if device != "CPU":
        cycles = bpy.context.preferences.addons["cycles"].preferences
        cycles.compute_device_type = device
        cycles.refresh_devices()
        for entry in cycles.devices:
            entry.use = entry.type == device
    for scene in bpy.data.scenes:
        scene.cycles.device = "CPU" if device == "CPU" else "GPU"
    return ", ".join(names)


def rendered_on(scene: Any) -> str:
    """The kind of device that ``scene`` renders on, read back from Blender."""
    if scene.cycles.device == "CPU":
        return "CPU"
    cycles = bpy.context.preferences.addons["cycles"].preferences
    used = {entry.type for entry in cycles.devices if entry.use}
    return str(cycles.compute_device_type) if used == {cycles.compute_device_type} else "CPU"


def _named(kind: str) -> list[str]:
    import _cycles

    try:
        return [device[0] for device in _cycles.available_devices(kind) if device[1] == kind]
    except ValueError:  # a kind that this build does not know
        return []


def _kernel() -> str:
    """The instruction set of the CPU kernel that Cycles picks (intern/cycles/util/debug.cpp)."""
    import _cycles

    if platform.machine() in ("arm64", "aarch64"):
        return "neon"
    told = next(
        (line for line in _cycles.system_info().splitlines() if "CPU device capabilities" in line), ""
    )
    wide = "AVX2" in told.partition(":")[2].split() and "CYCLES_CPU_NO_AVX2" not in os.environ
    return "avx2" if wide else "sse42"
