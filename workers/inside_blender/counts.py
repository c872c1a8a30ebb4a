"""How often adaptive sampling looked at each pixel: the Debug Sample Count pass, the same in all pieces.

Cycles stores a pixel's count as a share of the samples at which the *render* ended, and a render ends early
where all of its pixels have (measured: of 100 samples, a whole frame ended at 64 and a tile of it at 16, so
that 16 samples of a pixel were 0.25 in the one and 1.0 in the other). Only the count that Blender shows
while it renders tells that number. So a piece's counts are stored anew as shares of the total, and the
finished frame's as shares of its own last sample.

The denoiser's rounding hangs on the count too (see `denoise`).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workers.inside_blender.views import Head

PASS = "Debug Sample Count"  # noqa: S105 - no secret
_ONE = np.float32(1.0)
_ZIP, _ZIP_LINES = 3, 16


def shares(counts: np.ndarray, total: float) -> np.ndarray:
    """Counts as shares of ``total``, float32, with Cycles' own rounding."""
    found: np.ndarray = counts.astype(np.float32) * (_ONE / np.float32(total))
    return found


def counted(shares: np.ndarray, total: float) -> np.ndarray:
    """Whole samples of each pixel, float32, at least one, of `shares`."""
    return np.maximum(np.rint(shares * np.float32(total)), _ONE)


def as_cycles_ended(stored: np.ndarray, total: float) -> np.ndarray:
    """A frame's shares of ``total`` as shares of the sample at which Cycles would have ended it."""
    samples = counted(stored, total)
    return shares(samples, float(samples.max()))


def restate(path: Path, ended: Mapping[tuple[str, str], int], totals: Mapping[str, int]) -> None:
    """Store the counts in a piece as shares of the total of their layer.

    ``ended`` is the sample at which the render of each (layer, view) ended; the view is empty where there
    is but one. The new lines are appended and the file's table of lines points at them: the rest of it,
    header included, stays as it is. The piece is compressed with ZIP.
    """
    with path.open("r+b") as file:
        head = Head.read(file)
        table = head.end - 8 * len(head.offsets)
        first = 0
        for number, part in enumerate(head.parts):
            layer = _layer(part.attributes["channels"][1])
            last = ended.get((layer, part.view), 0)
            if layer and last and last != totals[layer]:
                for index in range(first, first + part.chunks):
                    line, pixels = _read(file, head.offsets[index], part.attributes)
                    data = _packed(shares(counted(pixels, last), totals[layer]))
                    start = file.seek(0, 2)
                    file.write(struct.pack("<iii", number, line, len(data)) + data)
                    file.seek(table + 8 * index)
                    file.write(struct.pack("<Q", start))
            first += part.chunks


def _layer(channels: bytes) -> str:
    """The view layer whose counts a part holds, by its list of channels; empty for another part."""
    name = channels.partition(b"\0")[0].decode(errors="replace")
    return name.removesuffix(f".{PASS}.X") if name.endswith(f".{PASS}.X") else ""


def _read(file: Any, start: int, attributes: Mapping[str, tuple[str, bytes]]) -> tuple[int, np.ndarray]:
    """The first line of a chunk, and its pixels as float32."""
    left, _, right, bottom = struct.unpack("<iiii", attributes["dataWindow"][1])
    if attributes["compression"][1] != bytes([_ZIP]):
        raise ValueError("the counts of a piece are not compressed as a piece is")
    file.seek(start)
    _, line, size = struct.unpack("<iii", file.read(12))
    data = file.read(size)
    length = 4 * (right - left + 1) * min(_ZIP_LINES, bottom - line + 1)
    if size < length:
        steps = np.frombuffer(zlib.decompress(data), np.uint8).copy()
        steps[1:] -= 128  # each byte is stored as its step from the one before
        halves = np.cumsum(steps, dtype=np.uint64).astype(np.uint8)
        middle = (length + 1) // 2
        raw = np.empty(length, np.uint8)
        raw[0::2], raw[1::2] = halves[:middle], halves[middle:]
        data = raw.tobytes()
    return line, np.frombuffer(data, "<f4")


def _packed(pixels: np.ndarray) -> bytes:
    """What `_read` takes apart; as it is where that is shorter, as OpenEXR has it."""
    raw = np.frombuffer(pixels.astype("<f4").tobytes(), np.uint8)
    halves = np.concatenate([raw[0::2], raw[1::2]])
    steps = halves.copy()
    steps[1:] = halves[1:] - halves[:-1] + np.uint8(128)
    data = zlib.compress(steps.tobytes())
    return data if len(data) < len(raw) else raw.tobytes()
