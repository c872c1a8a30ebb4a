from __future__ import annotations

import pytest

from farm.domain.job import Device
from farm.domain.work import Cause, RenderClass
from workers import devices
from workers.devices import order_device, render_class, worker_device
from workers.failures import AttemptFailed
from workers.protocol import Ready


def ready(*kinds: str) -> Ready:
    devices = [{"type": kind, "name": f"a {kind}"} for kind in kinds]
    return Ready("blender", version="5.2.3", build="abc", kernel="avx2", devices=devices)


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        (("CPU",), "CPU"),
        (("CUDA", "CPU"), "CUDA"),
        (("CUDA", "OPTIX", "CPU"), "OPTIX"),
        (("HIP", "CPU"), "CPU"),
    ],
)
def test_auto_is_the_best_that_is_there(there: tuple[str, ...], chosen: str) -> None:
    assert worker_device("AUTO", ready(*there)) == chosen
    assert order_device(Device.AUTO, "AUTO", ready(*there)) == chosen


def test_a_device_that_was_named_is_that_or_nothing() -> None:
    assert order_device(Device.CPU, "OPTIX", ready("OPTIX", "CPU")) == "CPU"
    assert order_device(Device.CUDA, "AUTO", ready("OPTIX", "CUDA", "CPU")) == "CUDA"
    for asked, configured, there in (
        (Device.OPTIX, "AUTO", ready("CPU")),
        (Device.OPTIX, "CPU", ready("OPTIX", "CPU")),
        (Device.AUTO, "OPTIX", ready("CPU")),
    ):
        with pytest.raises(AttemptFailed) as caught:
            order_device(asked, configured, there)
        assert caught.value.cause is Cause.NO_DEVICE
        assert caught.value.cure


def test_the_render_class_is_build_device_and_kernel() -> None:
    there = ready("OPTIX", "CPU")
    assert render_class("CPU", there) == RenderClass(blender="5.2.3 abc", device="CPU", kernel="avx2")
    assert render_class("OPTIX", there) == RenderClass(blender="5.2.3 abc", device="OPTIX", kernel="a OPTIX")


def test_the_kernel_of_a_gpu_is_its_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"NVIDIA A10": "sm_86", "NVIDIA A100-SXM4-40GB": "sm_80"}
    monkeypatch.setattr(devices, "architectures", lambda: known)
    for name, kernel in (
        ("NVIDIA A10", "sm_86"),
        ("NVIDIA A100-SXM4-40GB", "sm_80"),
        ("NVIDIA A100-SXM4-40GB (Display)", "sm_80"),
        ("NVIDIA H200", "NVIDIA H200"),
    ):
        there = Ready("blender", devices=[{"type": "OPTIX", "name": name}])
        assert render_class("OPTIX", there).kernel == kernel
