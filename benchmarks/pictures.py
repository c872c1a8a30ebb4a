"""Pieces of a frame as Cycles writes them, made up: noisy light, smooth geometry, sparse ids.

40 float channels of one view layer. They shrink about as real renders do with few samples, which is what
the time to decode and encode them hangs on; the benchmark tells by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR

LAYER = "ViewLayer"
_LIGHT = ("Diffuse Direct", "Diffuse Indirect", "Emission", "Environment")
_SAMPLES = 64

Parts = dict[str, dict[str, Any]]


def made_up(box: Sequence[int], seed: int) -> Parts:
    """The passes of ``box`` (x, y, width, height) of a frame: channels by pass."""
    x, y, width, height = box
    random = np.random.default_rng(seed)
    across = np.arange(x, x + width, dtype=np.float32)
    down = np.arange(y, y + height, dtype=np.float32)[:, None]
    shade = (0.4 + 0.3 * np.sin(across / 210) + 0.2 * np.cos(down / 170)).astype(np.float32)
    thing = (across // 97 + 31 * (down // 83)).astype(np.uint32)
    background = (thing % 5) == 0

    def light(factor: float) -> Any:
        noise = random.standard_normal((height, width), np.float32) * np.float32(0.15)
        return np.where(background, np.float32(0), np.maximum(shade * np.float32(factor) + noise, 0))

    passes: dict[str, tuple[str, list[Any]]] = {
        "Combined": ("RGBA", [*(light(f) for f in (1.0, 0.9, 0.7)), np.where(background, 0, 1)]),
        "Depth": ("Z", [np.where(background, 1e10, 5 + shade * 3)]),
        "Normal": ("XYZ", [np.where(background, 0, np.round(shade * f * 8) / 8) for f in (1, -1, 0.5)]),
        "Vector": ("XYZW", [np.where(thing % 3 == 0, shade * f, 0) for f in (4, -2, 4, -2)]),
        **{name: ("RGB", [light(f) for f in (0.8, 0.6, 0.5)]) for name in _LIGHT[:2]},
        **{
            name: ("RGB", [np.where(background, shade * f, 0) for f in (0.2, 0.3, 0.5)])
            for name in _LIGHT[2:]
        },
        "Diffuse Color": ("RGB", [(thing * prime % 251) / np.float32(251) for prime in (7, 11, 13)]),
        "Object Index": ("X", [thing % 17]),
        **_cryptomatte(thing, background, random),
    }
    return {
        f"{LAYER}.{name}": {
            f"{LAYER}.{name}.{letter}": np.ascontiguousarray(values, np.float32)
            for letter, values in zip(letters, channels, strict=True)
        }
        for name, (letters, channels) in passes.items()
    }


def _cryptomatte(thing: Any, background: Any, random: Any) -> dict[str, tuple[str, list[Any]]]:
    """Three levels: one id nearly everywhere, a second one at a tenth of the pixels, nothing below."""
    nothing = np.zeros(thing.shape, np.float32)
    ids = [
        np.where(background, 0, (thing + n) * np.uint32(2_654_435_761) >> 2).view(np.float32) for n in (0, 1)
    ]
    edge = (random.random(thing.shape, np.float32) < 0.1) & ~background
    cover = np.where(
        edge, random.integers(32, 64, thing.shape) / np.float32(_SAMPLES), np.where(background, 0, 1)
    )
    return {
        "CryptoObject00": ("rgba", [ids[0], cover, np.where(edge, ids[1], 0), np.where(edge, 1 - cover, 0)]),
        "CryptoObject01": ("rgba", [nothing] * 4),
        "CryptoObject02": ("rgba", [nothing] * 4),
    }


def write(path: Path, parts: Parts) -> None:
    """Write ``parts`` as Blender 5 does: one part a pass, ZIP, metadata in the first."""
    metadata = {"Software": "Blender", "Frame": "001", f"cycles.{LAYER}.samples": str(_SAMPLES)}
    OpenEXR.File(
        [
            OpenEXR.Part(
                {
                    "type": OpenEXR.scanlineimage,
                    "compression": OpenEXR.ZIP_COMPRESSION,
                    **(metadata if number == 0 else {}),
                },
                channels,
                name,
            )
            for number, (name, channels) in enumerate(parts.items())
        ]
    ).write(str(path))
