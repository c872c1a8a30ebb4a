"""What a worker renders on, what an order may render on, and the render class that comes of it."""

from __future__ import annotations

import functools

from farm.domain.job import Device
from farm.domain.task import TaskKind
from farm.domain.work import Cause, Order, RenderClass
from workers import gpus
from workers.config import WorkerConfig
from workers.failures import AttemptFailed
from workers.protocol import Ready

CPU = "CPU"
BEST_FIRST = ("OPTIX", "CUDA")
_CURE = "Check the GPU's driver with “farm doctor”, or render with --device cpu."


def worker_device(configured: str, ready: Ready) -> str:
    """The device that a worker offers: the one it was told, or the best there is.

    Raises `AttemptFailed` (no-device) where it was told one that Cycles does not find: a GPU worker
    never becomes a CPU worker in silence.
    """
    there = _kinds(ready)
    if configured == "AUTO":
        return next((kind for kind in BEST_FIRST if kind in there), CPU)
    if configured != CPU and configured not in there:
        raise AttemptFailed(
            Cause.NO_DEVICE,
            f"This worker is to render with {configured}, but Cycles finds only {_listed(there)} here.",
            _CURE,
        )
    return configured


def order_device(asked: Device, configured: str, ready: Ready) -> str:
    """The device for an order; raises `AttemptFailed` (no-device) where the one asked for is not here."""
    if asked is Device.AUTO:
        return worker_device(configured, ready)
    kind = asked.value.upper()
    if kind == CPU:
        return CPU
    there = _kinds(ready)
    if kind not in there:
        raise AttemptFailed(
            Cause.NO_DEVICE, f"The job asks for {kind}, but Cycles finds only {_listed(there)} here.", _CURE
        )
    if configured == CPU:
        raise AttemptFailed(
            Cause.NO_DEVICE,
            f"The job asks for {kind}, but this worker is set to render on the CPU.",
            "Start a worker with --device auto, or render with --device cpu.",
        )
    return kind


def device_for(order: Order, config: WorkerConfig, ready: Ready) -> str:
    """The device that an order is carried out on, CPU where it renders nothing.

    Raises `AttemptFailed`: no-device, or wrong-class where the frame's other pieces come from elsewhere.
    """
    if order.kind is TaskKind.INSPECT:
        return CPU
    if order.kind is TaskKind.FINISH:
        check_class(order, render_class(CPU, ready))
        return CPU
    device = order_device(order.settings.device, config.device, ready)
    check_class(order, render_class(device, ready))
    return device


def device_name(device: str, ready: Ready) -> str:
    """What the device calls itself."""
    return next((found["name"] for found in ready.devices if found.get("type") == device), device)


def render_class(device: str, ready: Ready) -> RenderClass:
    """The class of what ``device`` renders here; for a GPU the kernel is its architecture."""
    kernel = ready.kernel
    if device != CPU:
        name = device_name(device, ready)
        known = architectures()
        # Cycles may add something to the driver's name. “A10” is in “A100” too: the longest is meant.
        kernel = known[max(fitting, key=len)] if (fitting := [gpu for gpu in known if gpu in name]) else name
    return RenderClass(blender=f"{ready.version} {ready.build}".strip(), device=device, kernel=kernel)


def check_class(order: Order, here: RenderClass) -> None:
    """Raise `AttemptFailed` (wrong-class) where the order's pictures must come from another class.

    A finish only composites, on the CPU: there the Blender build has to be the same, no more.
    """
    wanted = order.render_class
    if wanted is None or wanted == here:
        return
    if order.kind is TaskKind.FINISH and wanted.blender == here.blender:
        return
    raise AttemptFailed(
        Cause.WRONG_CLASS,
        f"This frame is rendered with {wanted}; this worker has {here}.",
        "Another worker of the frame's class takes it, or the frame starts over.",
    )


def _kinds(ready: Ready) -> set[str]:
    return {found.get("type", "") for found in ready.devices}


def _listed(kinds: set[str]) -> str:
    return ", ".join(sorted(kinds - {""})) or "nothing"


@functools.cache
def driven() -> tuple[gpus.Gpu, ...]:
    """The GPUs that this worker may use; they do not change while it lives.

    The first call asks the driver, which can take seconds.
    """
    return tuple(gpus.gpus())


def architectures() -> dict[str, str]:
    """Architecture of each GPU by name."""
    return {gpu.name: gpu.architecture for gpu in driven() if gpu.architecture}


def gpu_memory(device: str) -> int:
    """Bytes that a scene has to fit into to be rendered on ``device``: of the smallest GPU; 0 on the CPU."""
    return min((gpu.memory for gpu in driven()), default=0) if device != CPU else 0


def driver(device: str) -> str:
    """The driver's version; empty on the CPU, and where the driver is not NVIDIA's."""
    return next((gpu.driver for gpu in driven()), "") if device != CPU else ""
