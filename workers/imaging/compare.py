"""Compares plain Blender's frame with the farm's, pass by pass.

Reads OpenEXR by itself: the code that reads and merges pieces could be wrong on both sides alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import OpenEXR

from workers.child import Link, Refusal
from workers.differences import Differences
from workers.protocol import Compare, Done
from workers.volatile import is_volatile

Channels = dict[str, npt.NDArray[Any]]

#: What a denoised pass was before, by the pass's own name.
_NOISY = {"Combined": "Noisy Image", "Shadow Catcher": "Noisy Shadow Catcher"}
_CLOCK = "Render Time"  # how long each pixel took: no two renders agree
_COUNT = "Debug Sample Count"
#: Passes that pieces also carry where the scene does not ask for them, to be merged and denoised exactly.
_HELPERS = (_COUNT, "Diffuse Color", "Glossy Color", "Transmission Color")
_COMPOSITE = "Composite."  # the finished picture, which a merged frame does not have yet
_NO_MATTER = frozenset({"channels", "chunkCount", "name"})  # follow from the passes themselves
_SHOWN = 5  # keys of metadata that a note names

_NONE_HERE = "the farm's frame has no such pass"
_NONE_THERE = "Blender renders no such pass"
_NOT_COMPARED = "how long each pixel took: not compared"
_SHARE = "a share of all samples until the frame is finished: not compared"


@dataclass(frozen=True)
class Pass:
    """A pass of one view: channels by full name, (height, width), y down. ``own`` leaves out the view."""

    own: str  # ViewLayer.Depth
    channels: Channels

    def is_called(self, name: str) -> bool:
        """Layers and passes of people's own may have dots in their names: the end of it tells."""
        return self.own.endswith(f".{name}")

    @property
    def shape(self) -> tuple[int, int]:
        height, width = next(iter(self.channels.values())).shape
        return height, width

    @property
    def pixels(self) -> int:
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True)
class Frame:
    """A file's passes by name (``ViewLayer.Depth``, of several views ``ViewLayer.Depth.left``).

    ``header`` is all parts' together.
    """

    passes: Mapping[str, Pass]
    header: Mapping[str, Any]


def compare(request: Compare, link: Link) -> Done:
    """Carry out a `Compare`; raises `Refusal` (bad-result) for a file that cannot be read whole."""
    del link
    reference = _read(request.reference, "The reference")
    if not request.candidate:
        return Done(report={"rows": list(_digest_rows(request, reference))})
    try:
        candidate = _read(request.candidate, "The farm's frame")
    except Refusal as refusal:
        return Done(report={"rows": [_row("passes", same=False, pixels=0, note=refusal.what)]})
    rows = [*_pass_rows(request, reference, candidate), _metadata_row(reference, candidate)]
    return Done(report={"rows": rows})


def _read(path: str, what: str) -> Frame:
    if not Path(path).is_file() or Path(path).is_symlink():
        raise Refusal("bad-result", f"{what} is not there to be compared.")
    passes: dict[str, Pass] = {}
    header: dict[str, Any] = {}
    try:
        with OpenEXR.File(path, separate_channels=True, header_only=True) as file:
            expected = len(file.parts)
        with OpenEXR.File(path, separate_channels=True) as file:
            if len(file.parts) != expected:  # a part that cannot be decoded is left out without a word
                raise Refusal("bad-result", f"{what} is damaged: not all of its passes can be read.")
            spelled = _spells_views(file.parts)
            for part in file.parts:
                view = part.header.get("view", "")
                for name, channel in part.channels.items():
                    own = name.rpartition(".")[0].removesuffix(f".{view}" if spelled else "")
                    full = ".".join(filter(None, (own, view)))
                    passes.setdefault(full, Pass(own, {})).channels[name] = channel.pixels
                header |= {key: value for key, value in part.header.items() if key not in header}
    except (RuntimeError, UnicodeDecodeError) as error:
        raise Refusal("bad-result", f"{what} is not a whole EXR file: {error}.") from error
    return Frame(passes, header)


def _spells_views(parts: list[Any]) -> bool:
    """Whether channels have their view in their names: all have, or none; a pass may be called as a view."""
    views = [(part, part.header["view"]) for part in parts if part.header.get("view")]
    return bool(views) and all(
        name.rpartition(".")[0].endswith(f".{view}") for part, view in views for name in part.channels
    )


def _row(name: str, *, same: bool, pixels: int, note: str, kind: str = "pass") -> dict[str, Any]:
    """A row without numbers."""
    return {
        "kind": kind,
        "name": name,
        "same": same,
        "pixels": pixels,
        "differing": None,
        "largest": None,
        "note": note,
    }


def _pass_rows(request: Compare, reference: Frame, candidate: Frame) -> Iterator[dict[str, Any]]:
    beside = {} if request.denoised is None else _before_denoising(candidate)
    for name, ours in reference.passes.items():
        theirs = candidate.passes.get(name)
        if theirs is not None and request.denoised is not None and name in beside:
            yield _pass_row(name, ours, theirs, request.denoised) | {"kind": "denoised"}
        elif theirs is not None:
            yield _pass_row(name, ours, theirs, request.tolerance)
        elif ours.own not in request.added:
            yield _row(name, same=False, pixels=ours.pixels, note=_NONE_HERE)
    for name, theirs in candidate.passes.items():
        if name not in reference.passes:
            yield _row(name, same=False, pixels=theirs.pixels, note=_NONE_THERE)


def _pass_row(name: str, ours: Pass, theirs: Pass, tolerance: float) -> dict[str, Any]:
    if ours.is_called(_CLOCK):
        return _row(name, same=True, pixels=ours.pixels, note=_NOT_COMPARED)
    apart = _apart(ours, theirs)
    if apart:
        return _row(name, same=False, pixels=ours.pixels, note=apart)
    found = Differences(ours.shape, tolerance)
    for key, values in ours.channels.items():
        found.add(values, theirs.channels[key])
    row = _row(name, same=found.same, pixels=ours.pixels, note=found.note)
    return {**row, "differing": found.differing, "largest": found.largest}


def _apart(ours: Pass, theirs: Pass) -> str:
    """Why two passes cannot be compared value by value, in words; empty where they can."""
    if sorted(ours.channels) != sorted(theirs.channels):
        return f"the farm's has the channels {_listed(theirs)}, the reference {_listed(ours)}"
    if ours.shape != theirs.shape:
        (height, width), (high, wide) = ours.shape, theirs.shape
        return f"the farm's has {wide}×{high} pixels, the reference {width}×{height}"
    for key, values in ours.channels.items():
        there = theirs.channels[key].dtype
        if values.dtype != there:
            return f"“{key}” is {there} in the farm's, {values.dtype} in the reference"
    return ""


def _listed(one: Pass) -> str:
    return ", ".join(sorted(name.rpartition(".")[2] for name in one.channels))


def _digest_rows(request: Compare, reference: Frame) -> Iterator[dict[str, Any]]:
    before = _before_denoising(reference) if request.noisy else {}
    no_matter = {*request.added, *(noisy.own for noisy in before.values())}
    for name, ours in reference.passes.items():
        if name in request.digests:
            yield _digest_row(name, request, before.get(name, ours), name in before)
        elif not ours.own.startswith(_COMPOSITE) and ours.own not in no_matter:
            yield _row(name, same=False, pixels=ours.pixels, note=_NONE_HERE)
    for name in request.digests:
        if name not in reference.passes and not _is_helper(name):
            yield _row(name, same=False, pixels=0, note=_NONE_THERE)


def _is_helper(name: str) -> bool:
    """Whether a merged pass, perhaps of one of several views, is one of `_HELPERS`."""
    return any(name.endswith(f".{helper}") or f".{helper}." in name for helper in _HELPERS)


def _before_denoising(frame: Frame) -> dict[str, Pass]:
    """For each denoised pass, by its full name, the noisy one that is stored beside it."""
    found = {}
    for name, one in frame.passes.items():
        for denoised, noisy in _NOISY.items():
            if one.is_called(denoised):
                own = f"{one.own.removesuffix(denoised)}{noisy}"
                there = frame.passes.get(f"{own}{name.removeprefix(one.own)}")
                if there is not None:
                    found[name] = there
    return found


def _digest_row(name: str, request: Compare, ours: Pass, noisy: bool) -> dict[str, Any]:
    if request.area:
        ours = Pass(ours.own, {key: _cut(values, request.area) for key, values in ours.channels.items()})
    if ours.is_called(_CLOCK):
        return _row(name, same=True, pixels=ours.pixels, note=_NOT_COMPARED)
    if ours.is_called(_COUNT):
        return _row(name, same=True, pixels=ours.pixels, note=_SHARE)
    note = "before denoising, by its digest" if noisy else "by its digest"
    same = _digest(ours.channels) == request.digests[name]
    row = _row(name, same=same, pixels=ours.pixels, note=note)
    return {**row, "differing": 0, "largest": 0.0} if same else row


def _cut(values: npt.NDArray[Any], area: list[int]) -> npt.NDArray[Any]:
    """``area`` of the frame; a reference that is no larger is the area already."""
    x, y, width, height = area
    return values if values.shape == (height, width) else values[y : y + height, x : x + width]


def _digest(channels: Channels) -> str:
    """As said at `farm.domain.work.Result.digests`; written anew here."""
    sha256 = hashlib.sha256()
    for name in sorted(channels):
        values = channels[name]
        sha256.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).ravel())
    return sha256.hexdigest()


def _metadata_row(reference: Frame, candidate: Frame) -> dict[str, Any]:
    ours, theirs = (_told(frame.header) for frame in (reference, candidate))
    keys = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
    shown = [f"{key}: {_short(theirs.get(key))}, reference {_short(ours.get(key))}" for key in keys[:_SHOWN]]
    more = [f"and {len(keys) - _SHOWN} more"] if len(keys) > _SHOWN else []
    row = _row("metadata", same=not keys, pixels=0, note="; ".join([*shown, *more]), kind="metadata")
    return row if keys else {**row, "differing": 0, "largest": 0.0}


def _told(header: Mapping[str, Any]) -> dict[str, str]:
    """What a header says, as comparable text, without what always differs."""
    return {
        key: _text(key, value)
        for key, value in header.items()
        if key not in _NO_MATTER and not is_volatile(key)
    }


def _text(key: str, value: Any) -> str:
    if key.endswith("/manifest") and isinstance(value, str):  # the same names in another order
        try:
            return json.dumps(json.loads(value), sort_keys=True)
        except ValueError:
            return value
    return value if isinstance(value, str) else repr(value)


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return f"“{value}”" if len(value) <= 40 else f"“{value[:40]}…”"
