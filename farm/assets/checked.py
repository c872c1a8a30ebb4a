"""A .blend as blender-asset-tracer reads it, with a guard against damaged descriptions of structures."""

from __future__ import annotations

from typing import Any

from blender_asset_tracer.blendfile import BlendFile


class Damaged(Exception):
    """The description counts more names than it has bytes, over which the library would count for hours."""


class CheckedFile(BlendFile):
    """As the library's own; closes itself where it cannot be read, and raises `Damaged` besides."""

    def _load_blocks(self) -> None:
        try:
            super()._load_blocks()
        except BaseException:  # the library leaves it open, and Windows cannot save an open file
            self.fileobj.close()
            raise

    def decode_structs(self, block: Any) -> None:
        start = self.fileobj.tell()
        data = self.fileobj.read(block.size)
        self.fileobj.seek(start)
        names = self._count(data, 8)
        rest = data[12:].split(b"\0", names)
        types = self._count(data, len(data) - len(rest[-1]) + 3 & ~3, 4) if len(rest) > names else len(data)
        if max(names, types) >= len(data):
            raise Damaged
        super().decode_structs(block)

    def _count(self, data: bytes, at: int, after: int = 0) -> int:
        """The number at a place, plus ``after`` bytes; as many as there are bytes where none stands there."""
        place = at + after
        if place + 4 > len(data):
            return len(data)
        number = data[place : place + 4]
        return int.from_bytes(number, "little" if self.header.is_little_endian else "big")
