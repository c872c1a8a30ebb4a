from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.integration.blender.driver import RenderProcess

Start = Callable[..., RenderProcess]
Build = Callable[..., Path]


def test_the_first_message_tells_what_the_process_is(start: Start) -> None:
    ready = start().ready
    assert (ready.program, ready.version) == ("blender", "5.2.3")
    assert ready.build == "e13b728c6880"
    assert ready.devices[-1]["type"] == "CPU"
    assert ready.devices[-1]["name"]


def test_the_kernel_variant_follows_cycles_own_switch(start: Start) -> None:
    assert start(None, CYCLES_CPU_NO_AVX2="1").ready.kernel == "sse42"
