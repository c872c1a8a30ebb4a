"""Digests of passes: by them a frame is known when its pixels are long gone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from workers.imaging.exr import Array, Part


def digests_of(part: Part, pixels: Mapping[str, Array]) -> dict[str, str]:
    """SHA-256 in hexadecimal of each pass of ``part``, by the pass's name, view last where it has one.

    Hashed are the values of the channels in the order of their names, each from the top row down, as
    little-endian bytes.
    """
    found = {}
    for name, channels in part.passes.items():
        digest = hashlib.sha256()
        for channel in channels:
            array = pixels[channel]
            digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data.cast("B"))
        found[f"{name}.{part.view}" if part.view else name] = digest.hexdigest()
    return found
