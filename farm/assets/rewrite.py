"""A copy of a .blend with other paths in it. The file itself is never touched."""

from __future__ import annotations

import dataclasses
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import zstandard

from farm.assets.blend import Compression, check
from farm.assets.datablocks import BlendReader
from farm.assets.links import Slot

_PIECE = 1 << 20  # bytes
_ALIGNED = 8  # bytes; blocks that grow end at a multiple


def rewrite(blend: Path, copy: Path, paths: Mapping[Slot, bytes]) -> None:
    """Write ``blend`` to ``copy`` with ``paths`` in their slots, packed as it was.

    The same input gives the same bytes. Everything that no slot covers is copied as it is. Raises
    OSError, and ValueError where a path has no room (see `fits`).
    """
    for slot, path in paths.items():
        if not fits(slot, path):
            raise ValueError(f"there is no room for {path!r}")
    with BlendReader(blend) as reader, copy.open("wb") as raw, _packed(raw, check(blend).compression) as out:
        for piece in _pieces(reader, paths):
            out.write(piece)


def fits(slot: Slot, path: bytes) -> bool:
    """Whether ``path`` and the zero after it fit."""
    return slot.grows or len(path) < slot.room


def _packed(raw: IO[bytes], compression: Compression) -> Any:
    match compression:
        case Compression.GZIP:
            return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)
        case Compression.ZSTD:
            return zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
        case Compression.NONE:
            return _Open(raw)


class _Open:
    """A stream as a context that leaves it open."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.write = raw.write

    def __enter__(self) -> _Open:
        return self

    def __exit__(self, *_: object) -> None:
        return


def _pieces(reader: BlendReader, paths: Mapping[Slot, bytes]) -> Iterator[bytes]:
    """The unpacked file, piece by piece."""
    stream, at = reader.file.fileobj, 0
    blocks = {block.file_offset: block for block in reader.file.blocks}
    for slot in sorted(paths, key=lambda slot: slot.offset):
        if slot.grows:
            yield from _copy(stream, at, slot.offset - reader.file.block_header_struct.size)
            yield from _grown(reader, blocks[slot.offset], paths[slot])
        else:
            yield from _copy(stream, at, slot.offset)
            yield paths[slot].ljust(slot.room, b"\0")
        at = slot.offset + slot.room
    yield from _copy(stream, at, None)


def _grown(reader: BlendReader, block: Any, path: bytes) -> Iterator[bytes]:
    """A block of text of its own: header and content."""
    layout = reader.file.block_header_struct
    stream = reader.file.fileobj
    stream.seek(block.file_offset - layout.size)
    header = reader.file.block_header_fields(*layout.unpack(stream.read(layout.size)))
    content = path + b"\0"
    content = content.ljust(len(content) + -len(content) % _ALIGNED, b"\0")
    count = len(content) if header.nr == header.len else header.nr
    yield layout.pack(*dataclasses.astuple(dataclasses.replace(header, len=len(content), nr=count)))
    yield content


def _copy(stream: IO[bytes], start: int, end: int | None) -> Iterator[bytes]:
    stream.seek(start)
    left = end - start if end is not None else None
    while left is None or left > 0:
        piece = stream.read(_PIECE if left is None else min(_PIECE, left))
        if not piece:
            return
        left = None if left is None else left - len(piece)
        yield piece
