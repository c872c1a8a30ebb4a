"""What a proof leaves out of metadata is a short, stated list."""

from __future__ import annotations

import pytest

from workers.volatile import VOLATILE, is_volatile


@pytest.mark.parametrize(
    "key",
    [
        "Date",
        "RenderTime",
        "Hostname",
        "Memory",
        "File",
        "cycles.ViewLayer.render_time",
        "cycles.A layer.with dots.total_time",
        "cycles.ViewLayer.synchronization_time",
    ],
)
def test_clocks_and_places_are_volatile(key: str) -> None:
    assert is_volatile(key)


@pytest.mark.parametrize(
    "key",
    [
        "Frame",
        "FrameRange",
        "Time",
        "Camera",
        "Lens",
        "Marker",
        "Note",
        "Scene",
        "Strip",
        "Software",
        "colorInteropID",
        "cycles.ViewLayer.samples",
        "cryptomatte/542cafa/manifest",
        "cycles..render_times",
        "date",
    ],
)
def test_what_the_scene_says_is_not(key: str) -> None:
    assert not is_volatile(key)


def test_each_key_says_why() -> None:
    assert all(VOLATILE.values())
