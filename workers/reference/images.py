"""Compares two pictures that Blender can read, value by value, as they are stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt

from workers.child import Link
from workers.differences import Differences
from workers.protocol import CompareImages, Done
from workers.reference import texts
from workers.volatile import is_volatile

_SHOWN = 5  # keys of metadata that a note names


def compare_images(request: CompareImages, link: Link) -> Done:
    """Carry out a `CompareImages`: a row for the pixels, and one for the metadata where it differs."""
    del link
    rows = [_pixels(request)]
    told = _metadata(request.reference, request.candidate)
    if told:
        rows.append(_row("metadata", request.name, same=False, note=told))
    return Done(report={"rows": rows})


def _row(kind: str, name: str, *, same: bool, pixels: int = 0, note: str = "") -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "same": same,
        "pixels": pixels,
        "differing": 0 if same else None,
        "largest": 0.0 if same else None,
        "note": note,
    }


def _pixels(request: CompareImages) -> dict[str, Any]:
    ours, theirs = _read(request.reference), _read(request.candidate)
    if ours is None or theirs is None:
        same = Path(request.reference).read_bytes() == Path(request.candidate).read_bytes()
        return _row("output", request.name, same=same, note="not a picture that Blender reads: by its bytes")
    (height, width, channels), pixels = ours.shape, ours.shape[0] * ours.shape[1]
    if ours.shape != theirs.shape:
        there = f"{theirs.shape[1]}×{theirs.shape[0]} pixels of {theirs.shape[2]} channels"
        note = f"the farm's has {there}, the reference {width}×{height} of {channels}"
        return _row("output", request.name, same=False, pixels=pixels, note=note)
    found = Differences((height, width), request.tolerance)
    for channel in range(channels):
        found.add(ours[:, :, channel], theirs[:, :, channel])
    row = _row("output", request.name, same=found.same, pixels=pixels, note=found.note)
    return {**row, "differing": found.differing, "largest": found.largest}


def _read(path: str) -> npt.NDArray[np.float32] | None:
    """(height, width, channels), y up, values as they lie in the file; None where Blender cannot read it."""
    try:
        image = bpy.data.images.load(path)
    except RuntimeError:
        return None
    try:
        image.colorspace_settings.is_data = True  # no colour transform
        image.alpha_mode = "CHANNEL_PACKED"  # and alpha is multiplied into nothing
        width, height = image.size
        if not width or not height:
            return None
        pixels = np.empty(width * height * image.channels, np.float32)
        image.pixels.foreach_get(pixels)
        return pixels.reshape(height, width, image.channels)
    finally:
        bpy.data.images.remove(image)


def _metadata(reference: str, candidate: str) -> str:
    """What differs of the metadata, in words; empty where nothing does, but for what always does."""
    ours, theirs = texts.read(reference), texts.read(candidate)
    if ours is None and theirs is None:
        return ""
    if ours is None or theirs is None:
        return "the two are not of one format"
    keys = sorted(
        key for key in {*ours, *theirs} if not is_volatile(key) and ours.get(key) != theirs.get(key)
    )
    told = [f"{key}: {_short(theirs.get(key))}, reference {_short(ours.get(key))}" for key in keys[:_SHOWN]]
    more = [f"and {len(keys) - _SHOWN} more"] if len(keys) > _SHOWN else []
    return "; ".join([*told, *more])


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return f"“{value}”" if len(value) <= 40 else f"“{value[:40]}…”"
