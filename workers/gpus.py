"""The NVIDIA GPUs of this machine, as their driver describes them (NVML)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pynvml


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


def gpus(nvml: ModuleType | Any = pynvml) -> list[Gpu]:
    """The GPUs that this process may use; none where there is no driver. Never fails.

    ``nvml`` is a module with the functions of `pynvml`. A driver that is broken counts as none: whether
    Cycles renders on the GPU all the same is asked of Cycles.
    """
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return []
    try:
        found = [_gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError:
        return []
    finally:
        nvml.nvmlShutdown()
    return visible(found, os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible(gpus: list[Gpu], chosen: str | None) -> list[Gpu]:
    """Those that ``CUDA_VISIBLE_DEVICES`` leaves, in its order; NVML itself does not heed it."""
    if chosen is None:
        return gpus
    kept: list[Gpu] = []
    for name in filter(None, map(str.strip, chosen.split(","))):
        match = [gpu for gpu in gpus if name == str(gpu.index) or gpu.uuid.startswith(name)]
        if not match:
            break  # CUDA stops at the first that is not there
        kept.append(match[0])
    return kept


def _gpu(nvml: Any, index: int) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)

    def asked(name: str, *more: Any) -> Any:
        """What one function says; None where this GPU or its driver does not know."""
        try:
            return getattr(nvml, name)(handle, *more)
        except nvml.NVMLError:
            return None

    capability = asked("nvmlDeviceGetCudaComputeCapability")
    memory = asked("nvmlDeviceGetMemoryInfo")
    used = asked("nvmlDeviceGetUtilizationRates")
    return Gpu(
        index=index,
        uuid=_text(asked("nvmlDeviceGetUUID")),
        name=_text(asked("nvmlDeviceGetName")),
        architecture="sm_{}{}".format(*capability) if capability else "",
        driver=_text(nvml.nvmlSystemGetDriverVersion()),
        memory=0 if memory is None else int(memory.total),
        memory_used=0 if memory is None else int(memory.used),
        busy=None if used is None else int(used.gpu),
        celsius=asked("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
    )


def _text(value: object) -> str:
    """Older bindings give bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")
