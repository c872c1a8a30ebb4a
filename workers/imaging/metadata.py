"""The header of a merged part, made from the headers of its pieces.

=====================================================  ==============================================
attribute                                              in the merged file
=====================================================  ==============================================
windows, chunks, channels, codec, name                 not here: they follow from the pixels
``RenderTime``, ``cycles.….render_time`` and its kin    summed: what the frame cost on all workers
``cryptomatte/…/manifest``                             united: a piece may name only what it saw
`_MUST_AGREE`                                          kept; pieces that disagree are no one frame
``cycles.….samples``                                   the same; of several pictures, their sum
anything else (``Date``, ``Hostname``, ``Memory`` …)    kept where all pieces agree, else dropped
=====================================================  ==============================================
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

Header = Mapping[str, Any]

_FROM_PIXELS = frozenset(
    {"channels", "chunkCount", "compression", "dataWindow", "displayWindow", "name", "type", "version"}
)
_MUST_AGREE = frozenset(
    {"Camera", "Frame", "Scene", "Software", "chromaticities", "colorInteropID", "pixelAspectRatio", "view"}
)
_SAMPLES = re.compile(r"cycles\..+\.samples")
_TIME = re.compile(r"RenderTime|cycles\..+\.(?:render|synchronization|total)_time")
_MANIFEST = re.compile(r"cryptomatte/[^/]+/manifest")

#: As Blender and Cycles write durations: 00:04.25, and 01:02:03.25 from an hour on.
_DURATION = re.compile(r"(?:(\d+):)?(\d+):(\d+)\.(\d\d)")


class Disagreement(ValueError):
    """The pieces say different things about what must be the same in a frame; ``odd`` are the few."""

    def __init__(self, what: str, odd: Sequence[int]) -> None:
        super().__init__(what)
        self.odd = list(odd)


def merged_header(headers: Sequence[Header], pictures: Sequence[Hashable] | None = None) -> dict[str, Any]:
    """One header for one part, from the headers of that part in all pieces; raises `Disagreement`.

    ``pictures`` says which picture each piece is of, where several are averaged: Cycles notes the total
    of samples in every range of a picture.
    """
    merged: dict[str, Any] = {}
    for key in dict.fromkeys(key for header in headers for key in header if key not in _FROM_PIXELS):
        values = [header.get(key) for header in headers]
        value = _merged(key, values, pictures or [None] * len(headers))
        if value is not None:
            merged[key] = value
    return merged


def minority(values: Sequence[Hashable]) -> list[int]:
    """Numbers of those that say something else than more than half of all do; none without such a half."""
    common, count = Counter(values).most_common(1)[0]
    return [n for n, value in enumerate(values) if value != common] if 2 * count > len(values) else []


def _merged(key: str, values: Sequence[Any], pictures: Sequence[Hashable]) -> Any:
    """The one value for ``key``; None leaves the attribute out."""
    if _TIME.fullmatch(key):
        return _sum(values)
    identities = [_identity(value) for value in values]
    if _SAMPLES.fullmatch(key) and len(set(pictures)) > 1:
        said = set(zip(pictures, identities, strict=True))
        if len(said) == len(set(pictures)) and all(value.isdecimal() for _, value in said):
            return str(sum(int(value) for _, value in said))
    elif len(set(identities)) == 1:
        return values[0]
    if key in _MUST_AGREE or _SAMPLES.fullmatch(key):
        told = ", ".join(f"“{value}”" for value in dict.fromkeys(map(str, values)))
        raise Disagreement(f"their “{key}” differs: {told}", minority(identities))
    if _MANIFEST.fullmatch(key):
        return _union(values)
    return None


def _identity(value: Any) -> str:
    """Attributes are numpy arrays and library objects too, most without a plain ``==``."""
    return value if isinstance(value, str) else repr(value)


def _sum(values: Sequence[Any]) -> str | None:
    total = 0  # hundredths of a second
    for value in values:
        found = _DURATION.fullmatch(str(value))
        if not found:
            return None
        hours, minutes, seconds, hundredths = (int(group or 0) for group in found.groups())
        total += ((hours * 60 + minutes) * 60 + seconds) * 100 + hundredths
    minutes, rest = divmod(total, 6000)
    seconds, hundredths = divmod(rest, 100)
    hours, minutes = divmod(minutes, 60)
    return (f"{hours:02d}:" if hours else "") + f"{minutes:02d}:{seconds:02d}.{hundredths:02d}"


def _union(values: Sequence[Any]) -> str | None:
    names: dict[str, str] = {}
    for value in values:
        try:
            names.update(json.loads(value))
        except (TypeError, ValueError):
            return None
    return json.dumps(names, separators=(",", ":"), ensure_ascii=False)
