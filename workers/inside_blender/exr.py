"""The header of a multilayer EXR that Blender wrote, all parts taken together."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from workers.child import Refusal
from workers.exr_header import NotExr, read_parts
from workers.inside_blender.causes import BAD_RESULT

#: Bytes of a channel's whole name (layer, pass, view, channel) that Blender looks for when it loads a file
#: into a render (measured with 5.2.3; EXR_TOT_MAXNAME). It writes longer ones, and leaves black what it does
#: not find.
LONGEST_NAME = 63


def reads_back(pass_name: str) -> bool:
    """Whether Blender finds the channels of a pass, named in full as ``ViewLayer.Combined.left``."""
    return len(f"{pass_name}.X".encode()) <= LONGEST_NAME


@dataclass
class Header:
    """``width`` and ``height`` are pixels; metadata sits in the first part."""

    width: int = 0
    height: int = 0
    channels: list[str] = field(default_factory=list)  # full names, as ``ViewLayer.Combined.R``
    texts: dict[str, str] = field(default_factory=dict)


def read(path: str) -> Header:
    """The header of ``path``; `Refusal` (bad-result) where it is no EXR or does not hold all its pixels.

    Blender itself reads a file that was cut short without a word and leaves the rest of the picture black.
    """
    try:
        parts = read_parts(Path(path), names=True)
    except (OSError, NotExr) as error:
        raise Refusal(BAD_RESULT, f"“{Path(path).name}” is not a readable EXR file: {error}.") from error
    channels = [channel for part in parts for channel in part.channels]
    return Header(parts[0].width, parts[0].height, channels, parts[0].texts)
