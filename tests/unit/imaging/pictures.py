"""Small EXR files, made by hand, shaped as Blender shapes its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR

from workers.child import Link
from workers.protocol import Answer, PieceFile, decode, encode

Channels = dict[str, Any]
Parts = dict[str, Channels]


def frame(width: int, height: int) -> Parts:
    """Three passes of a frame whose every value is another: float32 twice, uint32 once."""
    values = np.arange(1, 1 + width * height, dtype=np.float32).reshape(height, width)
    return {
        "Beauty.Combined": {f"Beauty.Combined.{c}": values + i * 0.25 for i, c in enumerate("ABGR")},
        "Beauty.Depth": {"Beauty.Depth.Z": values * 1e10},
        "Beauty.Id": {"Beauty.Id.X": values.astype(np.uint32) * 1_000_003},
    }


def cut(parts: Parts, box: list[int]) -> Parts:
    x, y, width, height = box
    return {
        name: {c: a[y : y + height, x : x + width].copy() for c, a in channels.items()}
        for name, channels in parts.items()
    }


def save(path: Path, parts: Parts, header: Mapping[str, Any] | None = None) -> Path:
    """Write ``parts``; ``header`` goes to part 0, as Blender's metadata does."""
    OpenEXR.File(
        [
            OpenEXR.Part({"type": OpenEXR.scanlineimage, **(header or {} if i == 0 else {})}, channels, name)
            for i, (name, channels) in enumerate(parts.items())
        ]
    ).write(str(path))
    return path


def load(path: Path) -> Parts:
    with OpenEXR.File(str(path), separate_channels=True) as file:
        return {part.name(): {n: c.pixels for n, c in part.channels.items()} for part in file.parts}


def piece(path: Path, rendered: list[int], core: list[int] | None = None) -> PieceFile:
    return PieceFile(str(path), rendered, core or rendered)


def same_bits(one: Any, other: Any) -> bool:
    return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())


class Told(Link):
    """A link that keeps what was sent, having gone through the wire's form."""

    def __init__(self) -> None:
        self.messages: list[Answer] = []

    def send(self, message: Answer) -> None:
        self.messages.append(decode(encode(message)))  # type: ignore[arg-type]
