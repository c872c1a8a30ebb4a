"""Writing a multilayer EXR part by part, so that no more than one part has to be in memory.

The file is what the OpenEXR library itself writes when it is given all parts at once, byte for byte: it
makes the headers from parts of a single pixel, and it encodes the lines; here the pieces are put
together.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import OpenEXR

from workers.imaging.exr import Array, Part
from workers.imaging.layout import blocks, packed, read_layout

#: Of the lossless codecs the one with the best balance: for 42 channels of a noisy 1280 × 720 render on
#: 2 cores, write + read in seconds and size in MB are none 0.41/155, RLE 0.65/50, ZIP 0.69/26,
#: PIZ 0.88/28, ZIPS 1.14/27. Blender reads them all.
CODEC = OpenEXR.ZIP_COMPRESSION

_LINES = 16  # of a block, with this codec
_STRIP_BYTES = 64 * 1024 * 1024  # of pixels that are encoded at once


class PartWriter:
    """Parts of ``width`` × ``height`` pixels in ``file``, which is empty. Raises OSError.

    ``parts`` are what each part was and its new header; data and display windows are made anew. Every
    part has to be written once, in any order, before `finish`.
    """

    def __init__(
        self, file: BinaryIO, parts: Sequence[tuple[Part, Mapping[str, Any]]], width: int, height: int
    ) -> None:
        self._file, self._parts = file, parts
        self._width, self._height = width, height
        tiny = io.BytesIO()
        OpenEXR.File([_made(part, header, _pixel(part)) for part, header in parts]).write(tiny)
        layout = read_layout(tiny)
        self._multi = layout[0].multi
        window = ("box2i", struct.pack("<iiii", 0, 0, width - 1, height - 1))
        count = -(-height // _LINES)
        heads = []
        for part in layout:
            attributes = {**part.attributes, "dataWindow": window, "displayWindow": window}
            if "chunkCount" in attributes:
                attributes["chunkCount"] = ("int", struct.pack("<i", count))
            heads.append(packed(attributes))
        file.write(tiny.getvalue()[:8] + b"".join(heads) + (b"\0" if self._multi else b""))
        self._table = file.tell()
        self._offsets = [[0] * count for _ in parts]
        file.write(bytes(8 * count * len(parts)))

    def write(self, number: int, pixels: Mapping[str, Array]) -> None:
        """Encode part ``number`` and append it."""
        part, _ = self._parts[number]
        line = self._width * sum(array.dtype.itemsize for array in pixels.values())
        strip = max(1, _STRIP_BYTES // (line * _LINES)) * _LINES
        for top in range(0, self._height, strip):
            encoded = io.BytesIO()
            lines = {name: array[top : top + strip] for name, array in pixels.items()}
            OpenEXR.File([_made(part, {}, lines)]).write(encoded)
            self._append(number, top, encoded.getvalue())

    def _append(self, number: int, top: int, encoded: bytes) -> None:
        prefix = struct.pack("<i", number) if self._multi else b""
        _, found = blocks(encoded)
        for y, data in found:
            self._offsets[number][(top + y) // _LINES] = self._file.tell()
            self._file.write(prefix + struct.pack("<ii", top + y, len(data)))
            self._file.write(data)

    def finish(self) -> None:
        """Write where everything is; the file is whole after this."""
        end = self._file.tell()
        self._file.seek(self._table)
        for offsets in self._offsets:
            self._file.write(struct.pack(f"<{len(offsets)}Q", *offsets))
        self._file.seek(end)
        self._file.flush()


def _pixel(part: Part) -> dict[str, Array]:
    return {channel.name: np.zeros((1, 1), channel.dtype) for channel in part.channels}


def _made(part: Part, header: Mapping[str, Any], pixels: Mapping[str, Array]) -> Any:
    height, width = next(iter(pixels.values())).shape
    window = (np.array([0, 0], np.int32), np.array([width - 1, height - 1], np.int32))
    attributes = {
        **header,
        "dataWindow": window,
        "displayWindow": window,
        "compression": CODEC,
        "type": OpenEXR.scanlineimage,
    }
    channels = {
        channel.name: OpenEXR.Channel(channel.name, pixels[channel.name], 1, 1, channel.linear)
        for channel in part.channels
    }
    return OpenEXR.Part(attributes, channels, part.name)
