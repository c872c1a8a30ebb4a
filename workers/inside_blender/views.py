"""Merged frames of several views, as Blender reads them back.

Blender writes the views of a multilayer EXR as parts that say their ``view``, all with the same channel
names. What loads such a file into a render result looks for names with the view spelled in,
``ViewLayer.Combined.left.R``, and finds none (measured with 5.2.3). So the names are spelled for it: the
headers are written anew, the pixels copied as they are.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_LONG_NAMES = 0x400  # flag of the version field: names have up to 255 bytes instead of 31
_MULTI_PART = 0x1000


@contextmanager
def readable(path: str) -> Iterator[str]:
    """``path`` of a complete EXR, or of a copy of it that Blender can load, for as long as it is needed.

    Only a file whose parts have views is copied. Raises OSError.
    """
    with Path(path).open("rb") as source:
        head = Head.read(source)
        if not any(part.view for part in head.parts):
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="views-") as folder:
            target = Path(folder, "merged.exr")
            with target.open("wb") as file:
                head.copy(source, file)
            yield str(target)


@dataclass(frozen=True)
class _Part:
    """Attributes by name, as (type, value)."""

    attributes: dict[str, tuple[str, bytes]]

    @property
    def view(self) -> str:
        return self.attributes.get("view", ("", b""))[1].decode(errors="replace")

    @property
    def chunks(self) -> int:
        return int(struct.unpack("<i", self.attributes["chunkCount"][1])[0])

    def spelled(self) -> bytes:
        """This header with the view in the names of its channels, in the same order."""
        found = {name: value for name, value in self.attributes.items() if name != "view"}
        if self.view:
            kind, channels = found["channels"]
            found["channels"] = kind, _with_view(channels, self.view)
        return b"".join(_text(name) + _text(kind) + _sized(value) for name, (kind, value) in found.items())


@dataclass(frozen=True)
class Head:
    """What comes before the pixels of a multi-part file: version, headers, and where each chunk starts."""

    version: int
    parts: list[_Part]
    offsets: list[int]
    end: int  # where the first chunk may start

    @classmethod
    def read(cls, file: BinaryIO) -> Head:
        """The head of ``file``; one of a single part, which has no views, is not read further."""
        _, version = struct.unpack("<ii", file.read(8))
        if not version & _MULTI_PART:
            return cls(version, [], [], file.tell())
        parts = []
        while attributes := dict(_attributes(file)):
            parts.append(_Part(attributes))
        count = sum(part.chunks for part in parts)
        offsets = list(struct.unpack(f"<{count}Q", file.read(8 * count)))
        return cls(version, parts, offsets, file.tell())

    def copy(self, source: BinaryIO, target: BinaryIO) -> None:
        """Write the file with its views spelled; ``source`` stands where the pixels begin."""
        headers = b"".join(part.spelled() + b"\0" for part in self.parts) + b"\0"
        moved = 8 + len(headers) + 8 * len(self.offsets) - self.end
        target.write(struct.pack("<ii", 20000630, self.version | _LONG_NAMES))
        target.write(headers)
        target.write(struct.pack(f"<{len(self.offsets)}Q", *(start + moved for start in self.offsets)))
        source.seek(self.end)
        shutil.copyfileobj(source, target, 1 << 20)


def _attributes(file: BinaryIO) -> Iterator[tuple[str, tuple[str, bytes]]]:
    while name := _read_text(file):
        kind = _read_text(file)
        (size,) = struct.unpack("<i", file.read(4))
        yield name, (kind, file.read(size))


def _with_view(channels: bytes, view: str) -> bytes:
    """A channel list with ``view`` before the last component of each name."""
    spelled, at = [], 0
    while channels[at : at + 1] not in (b"\0", b""):
        end = channels.index(b"\0", at)
        layer, dot, last = channels[at:end].rpartition(b".")
        spelled.append(layer + dot + view.encode() + b"." + last + channels[end : end + 17])
        at = end + 17  # the name's end, type, flags and two sampling rates
    return b"".join(spelled) + b"\0"


def _read_text(file: BinaryIO) -> str:
    found = bytearray()
    while (byte := file.read(1)) not in (b"\0", b""):
        found += byte
    return found.decode()


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


def _sized(value: bytes) -> bytes:
    return struct.pack("<i", len(value)) + value
