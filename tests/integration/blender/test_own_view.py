"""An output with a view of its own keeps it, from frame to frame of a warm process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from tests.integration.blender.driver import RenderProcess, look
from workers.protocol import RenderFrame

OWN = (
    "settings = scene.render.image_settings; settings.color_management = 'OVERRIDE'; "
    "settings.view_settings.view_transform = 'Raw'; settings.view_settings.exposure = 1.5"
)


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_every_frame_is_saved_through_the_outputs_own_view(
    start: Callable[..., RenderProcess], build: Callable[..., Path], tmp_path: Path
) -> None:
    variants = {"own": OWN, "plain": ""}
    child = start(build(width=32, height=18, samples=1, objects=1, variants=variants))
    found = {}
    for name in ("first", "second", "plain"):
        out, preview = tmp_path / name, tmp_path / f"{name}.jpg"
        scene = "plain" if name == "plain" else "own"
        done = child.done(RenderFrame(look(3, scene=scene), str(out), str(preview)))
        found[name] = (pixels(out / done.outputs[0]), pixels(preview))
    assert np.array_equal(found["first"][0], found["second"][0])
    assert np.abs(found["first"][0] - found["plain"][0]).mean() > 10
    for picture, preview in found.values():  # what is shown is what was saved
        assert np.abs(picture - preview).mean() < 4
