"""Blender's multilayer EXR files, read as they are, as much at a time as is asked for.

Blender 5.x writes one part a pass, named ``Layer.Pass`` (``Layer.Pass-view`` with several views), with
channels ``Layer.Pass.R``; the file's metadata, Cryptomatte manifests included, sits in part 0. Blender
4.x writes a single part without a name that holds all channels. Both are lists of parts here.

Arrays are (height, width), y down, of the channel's own type: float32, float16 or uint32. Values are
copied, never computed with.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy.typing as npt
import OpenEXR

from workers.imaging.layout import Blocks, Unreadable, channels, read_layout

__all__ = ["Array", "Channel", "Part", "PartReader", "Picture", "Unreadable", "inspect_exr", "read_pixels"]

Array = npt.NDArray[Any]

_TYPES = ("uint32", "float16", "float32")  # by EXR's number

OpenEXR.set_global_thread_count(os.process_cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of a part. ``dtype`` is numpy's; ``linear`` is EXR's pLinear hint, kept as it is."""

    name: str
    dtype: str
    linear: bool


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a file as its header tells it; ``header`` holds every attribute by name."""

    name: str
    width: int
    height: int
    channels: tuple[Channel, ...]
    header: Mapping[str, Any]

    def pass_of(self, channel: str) -> str:
        """The pass that a channel is of, such as ``ViewLayer.Depth``; a part's view is not in its names."""
        return channel.rpartition(".")[0]

    @property
    def view(self) -> str:
        """The view, where there are several."""
        return str(self.header.get("view", ""))

    @property
    def passes(self) -> dict[str, list[str]]:
        """The channels of each pass, in the order of their names."""
        found: dict[str, list[str]] = {}
        for channel in sorted(channel.name for channel in self.channels):
            found.setdefault(self.pass_of(channel), []).append(channel)
        return found


@dataclass(frozen=True, slots=True)
class Picture:
    """What the headers of a file tell. Every part has the same size, in pixels."""

    width: int
    height: int
    parts: tuple[Part, ...]

    @property
    def metadata(self) -> dict[str, str]:
        """The file's text attributes: what Blender and Cycles say about the render."""
        return {key: value for key, value in self.parts[0].header.items() if isinstance(value, str)}


class PartReader:
    """A file whose parts are decoded one by one, or a few lines of them. Raises `Unreadable`, OSError.

    The file is open only while it is read: there may be more of them than a process may hold open.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        with self._path.open("rb") as file:
            blocks = read_layout(file)
        with _opened(path) as headers:
            parts = tuple(_part(part, layout) for part, layout in zip(headers, blocks, strict=False))
        if len(parts) != len(blocks):
            raise Unreadable("its parts are damaged")
        sizes = {(part.width, part.height) for part in parts}
        if len(sizes) != 1:
            raise Unreadable("its parts differ in size")
        self._blocks = [layout.bare() for layout in blocks]
        ((width, height),) = sizes
        self.picture = Picture(width, height, parts)

    def pixels(self, number: int, top: int = 0, bottom: int | None = None) -> dict[str, Array]:
        """The channels of part ``number``: lines [``top``, ``bottom``), or all of them."""
        blocks, part = self._blocks[number], self.picture.parts[number]
        bottom = part.height if bottom is None else bottom
        first, last = top // blocks.lines, -(-bottom // blocks.lines)
        try:
            with self._path.open("rb") as file:
                read = _decoded(blocks.alone(file, first, last))
        except Unreadable as reason:
            where = f" in “{part.name}”" if part.name else ""
            raise Unreadable(f"pixels are damaged or cut short{where}") from reason
        start = top - first * blocks.lines
        return {name: array[start : start + bottom - top] for name, array in read.items()}


def _decoded(stream: BinaryIO) -> dict[str, Array]:
    try:
        with OpenEXR.File(stream, separate_channels=True) as decoded:
            # OpenEXR leaves out a part that it cannot decode, with no more than a printed warning.
            if len(decoded.parts) != 1:
                raise Unreadable("pixels are damaged or cut short")
            return {name: channel.pixels for name, channel in decoded.parts[0].channels.items()}
    except RuntimeError as error:
        raise Unreadable("pixels are damaged or cut short") from error


def inspect_exr(path: str | Path) -> Picture:
    """Read the headers of ``path``, no pixels; raises `Unreadable`."""
    return PartReader(path).picture


def read_pixels(path: str | Path, picture: Picture) -> list[dict[str, Array]]:
    """The channels of each part of ``path``, whose headers are ``picture``; raises `Unreadable`."""
    reader = PartReader(path)
    return [reader.pixels(number) for number in range(len(picture.parts))]


@contextmanager
def _opened(path: str | Path) -> Iterator[list[Any]]:
    try:
        with OpenEXR.File(str(path), separate_channels=True, header_only=True) as file:
            yield file.parts
    except (RuntimeError, UnicodeDecodeError) as error:  # names are decoded only when they are asked for
        raise Unreadable("it is not an EXR file, or it is cut short or damaged") from error


def _part(part: Any, blocks: Blocks) -> Part:
    found = channels(blocks.attributes)
    if not found:
        raise Unreadable(f"“{part.name()}” has no channel")
    if any((across, down) != (1, 1) for _, _, _, across, down in found):
        raise Unreadable(f"“{part.name()}” has subsampled channels, which Blender does not write")
    if any(not 0 <= kind < len(_TYPES) for _, kind, _, _, _ in found):
        raise Unreadable(f"“{part.name()}” has channels of a kind that there is not")
    left, top, right, bottom = blocks.window
    return Part(
        name=part.name(),
        width=right - left + 1,
        height=bottom - top + 1,
        channels=tuple(Channel(name, _TYPES[kind], linear) for name, kind, linear, _, _ in found),
        header={key: _shared(value) for key, value in part.header.items()},
    )


def _shared(value: Any) -> Any:
    """Texts that many pieces have in common, such as the names of all objects, are kept once."""
    return sys.intern(value) if type(value) is str else value
