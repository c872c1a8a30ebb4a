"""What is made of the driver's answers: a fake with the contract of `pynvml`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from workers import devices
from workers.gpus import Gpu, gpus, visible

H200 = {
    "UUID": "GPU-aaaa",
    "Name": "NVIDIA H200",
    "CudaComputeCapability": (9, 0),
    "MemoryInfo": SimpleNamespace(total=150_754_820_096, used=4_000_000, free=0),
    "UtilizationRates": SimpleNamespace(gpu=12, memory=3),
    "Temperature": 33,
}
L4 = H200 | {
    "UUID": "GPU-bbbb",
    "Name": b"NVIDIA L4",
    "CudaComputeCapability": (8, 9),
    "MemoryInfo": SimpleNamespace(total=24_152_899_584, used=1_000, free=0),
    "UtilizationRates": None,
    "Temperature": None,
}


class Nvml:
    """NVML with these GPUs; what one does not know, it refuses as NVML does."""

    NVMLError = pynvml.NVMLError
    NVML_TEMPERATURE_GPU = pynvml.NVML_TEMPERATURE_GPU

    def __init__(self, *gpus: dict[str, Any], works: bool = True) -> None:
        self._gpus = gpus
        self._works = works
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802  pynvml's own name
        if not self._works:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self._gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:  # noqa: N802
        return self._gpus[index]

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "575.51.03"

    def __getattr__(self, name: str) -> Any:
        def answer(gpu: dict[str, Any], *_: Any) -> Any:
            found = gpu[name.removeprefix("nvmlDeviceGet")]
            if found is None:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return found

        assert hasattr(pynvml, name)
        return answer


@pytest.fixture(autouse=True)
def every_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_gpus_are_as_the_driver_says() -> None:
    nvml = Nvml(H200, L4)
    first, second = gpus(nvml)
    assert first == Gpu(
        index=0,
        uuid="GPU-aaaa",
        name="NVIDIA H200",
        architecture="sm_90",
        driver="575.51.03",
        memory=150_754_820_096,
        memory_used=4_000_000,
        busy=12,
        celsius=33,
    )
    assert (second.index, second.name, second.architecture) == (1, "NVIDIA L4", "sm_89")
    assert (second.busy, second.celsius, second.memory) == (None, None, 24_152_899_584)
    assert nvml.open == 0


def test_without_a_driver_there_are_none() -> None:
    assert gpus(Nvml(works=False)) == []
    assert gpus(Nvml()) == []


def test_a_worker_sees_the_gpus_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    both = gpus(Nvml(H200, L4))
    assert visible(both, None) == both
    assert visible(both, "1") == [both[1]]
    assert visible(both, "GPU-bbbb,0") == [both[1], both[0]]
    assert visible(both, "0,7,1") == [both[0]]
    assert visible(both, "") == []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-bbbb")
    assert gpus(Nvml(H200, L4)) == [both[1]]


def test_a_scene_has_to_fit_into_the_smallest_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    both = tuple(gpus(Nvml(H200, L4)))
    monkeypatch.setattr(devices, "driven", lambda: both)
    assert devices.gpu_memory("OPTIX") == 24_152_899_584
    assert devices.driver("CUDA") == "575.51.03"
    assert (devices.gpu_memory("CPU"), devices.driver("CPU")) == (0, "")
    monkeypatch.setattr(devices, "driven", tuple)
    assert (devices.gpu_memory("OPTIX"), devices.driver("OPTIX")) == (0, "")
