"""Which memory ran out, and how much of it there was."""

from __future__ import annotations

import pytest

from farm.domain.work import Cause
from workers.failures import AttemptFailed
from workers.memory import Room, of_host, worded
from workers.shortage import GPU, HOST, missing

ROOM = Room(host=64_000_000_000, gpu=24_200_000_000)


@pytest.mark.parametrize(
    ("text", "which"),
    [
        ("System is out of GPU memory", GPU),
        ("System is out of GPU and shared host memory", GPU),
        ("Out of memory in cuMemAlloc_v2(&device_pointer, size) (intern/cycles/device/cuda)", GPU),
        ("Out of memory in CUDA queue enqueue (integrator_shade_surface)", GPU),
        ("CUDA error: CUDA_ERROR_OUT_OF_MEMORY", GPU),
        ("OPTIX_ERROR_DEVICE_OUT_OF_MEMORY in optixAccelBuild", GPU),
        ("Out of memory", HOST),
        ("terminate called after throwing an instance of 'std::bad_alloc'", HOST),
        ("Malloc returns null: len=68719476736 in image, total 12", HOST),
        ("MemoryError", HOST),
        ("OSError: [Errno 12] Cannot allocate memory", HOST),
        ("the texture memory.png is missing", ""),
        ("Mem: 12M, Peak 14M | Updating Device", ""),
    ],
)
def test_which_memory_ran_out(text: str, which: str) -> None:
    assert missing(text) == which


def test_words_name_what_there_is_and_what_was_used() -> None:
    gpu = AttemptFailed(Cause.OUT_OF_MEMORY, "Blender ran out of GPU memory for frame 3: x.")
    assert worded(gpu, ROOM) == "Blender ran out of GPU memory for frame 3: x. This worker's GPU has 24.2 GB."
    assert worded(gpu, Room(ROOM.host, 0)) == gpu.what
    host = AttemptFailed(Cause.OUT_OF_MEMORY, "Blender ran out of memory.", peak_memory=60_100_000_000)
    assert (
        worded(host, ROOM) == "Blender ran out of memory. It used 60.1 GB at most; this worker has 64.0 GB."
    )
    host = AttemptFailed(Cause.OUT_OF_MEMORY, "Blender ran out of memory.")
    assert worded(host, ROOM) == "Blender ran out of memory. This worker has 64.0 GB."


def test_other_failures_say_nothing_of_memory() -> None:
    assert worded(AttemptFailed(Cause.CRASH, "Blender crashed."), ROOM) == "Blender crashed."


def test_the_machine_s_memory_is_told_apart_from_the_gpu_s() -> None:
    assert of_host(AttemptFailed(Cause.OUT_OF_MEMORY, "Blender ran out of memory."))
    assert not of_host(AttemptFailed(Cause.OUT_OF_MEMORY, f"Blender ran out of {GPU} for frame 3."))
    assert not of_host(AttemptFailed(Cause.CRASH, "Blender crashed."))
