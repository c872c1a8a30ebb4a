"""What the small scene of a probe must look like (see `workers.inside_blender.probe`). Pure; numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

SIDE = 32  # pixels
WORLD = (0.25, 0.5, 0.75)
_NEAR = 1e-4  # of the world's colour: a sum of samples, in 32 bits
_ALIKE = 1e-3  # between two renders of a GPU


def fault(first: Any, second: Any, *, exact: bool) -> str:
    """What is wrong with two renders of the scene, arrays of (height, width, 4) float32; empty: nothing."""
    for picture in (first, second):
        if picture.shape != (SIDE, SIDE, 4):
            return f"came out {picture.shape[1]}×{picture.shape[0]} pixels instead of {SIDE}×{SIDE}"
        if not np.isfinite(picture).all():
            return "has values that are no numbers"
        if not picture[..., :3].any():
            return "is black"
        corners = picture[:: SIDE - 1, :: SIDE - 1, :3]
        if not np.allclose(corners, WORLD, rtol=0, atol=_NEAR):
            return "has other colours than it must have"
        if np.allclose(picture[SIDE // 2, SIDE // 2, :3], WORLD, rtol=0, atol=_NEAR):
            return "lacks what is in it"
    same = np.array_equal(first, second) if exact else np.allclose(first, second, rtol=_ALIKE, atol=_ALIKE)
    return "" if same else "came out differently the second time"
