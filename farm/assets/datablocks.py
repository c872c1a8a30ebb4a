"""The datablocks of a .blend on disk and what they point at, read without Blender (by blender-asset-tracer).

The library reads the file's own description of its structures. What it knows of their meaning ends some
versions ago, so pointers are followed by that description alone: whatever one datablock uses is found, in
files of any version. Blender numbers the data of each datablock anew: an address is looked up first among
the data of the datablock it stands in, then among all datablocks (`read_libblock` in Blender's source).
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

#: What a datablock's own header may lead to. The rest are its neighbours in lists of unrelated ones.
_HEADER_LEADS = frozenset({b"lib", b"properties", b"system_properties", b"override_library"})
_RAW = 0  # index of the structure of blocks that have none

logging.getLogger("blender_asset_tracer").setLevel(logging.CRITICAL)  # what it has to say, we say


@dataclass(slots=True)
class Datablock:
    """One datablock: its block, and the blocks of its own data by their address."""

    block: Any
    data: dict[int, Any] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """Two letters: ``IM`` is an image. Of what is linked from another file: those of its name."""
        return str(self.full_name[:2].decode("latin-1"))

    @property
    def full_name(self) -> bytes:
        """Name with its two letters, as the file has it: ``b"IMWood"``."""
        found = self.block[b"name"] if self.is_linked else self.block[b"id", b"name"]
        return bytes(found)

    @property
    def is_linked(self) -> bool:
        """Whether only its name is here, and the rest in a library."""
        return bool(self.block.code == b"ID")


@dataclass(frozen=True, slots=True)
class Piece:
    """One structure in a block, of which there may be several: ``index`` counts them."""

    owner: Datablock
    block: Any
    index: int

    @property
    def kind(self) -> bytes:
        return bytes(self.block.dna_type_id)

    def has(self, name: bytes) -> bool:
        return bool(self.block.has_field(name))

    def get(self, name: bytes | tuple[bytes, ...], default: Any = None) -> Any:
        """Value of a field: text as bytes, pointers as numbers; ``default`` where there is no such field."""
        return self.block.get(name, default=default, array_index=self.index)

    def room(self, name: bytes) -> tuple[int, int]:
        """Where a field of text stands in the file, unpacked, and how many bytes it has."""
        offset, size = self.block.abs_offset(name)
        return offset + self.index * self.block.dna_type.size, size

    def follow(self, name: bytes) -> Any | None:
        """The block of the datablock's own data that a field points at, or None."""
        return self.owner.data.get(self.get(name, 0))


class BlendReader:
    """A .blend opened for reading. Raises what blender-asset-tracer raises for files that are none."""

    def __init__(self, path: Path) -> None:
        from farm.assets.checked import CheckedFile  # slow to import, and only a submit needs it

        self.file: Any = CheckedFile(path)
        self.path = path
        self.datablocks: list[Datablock] = []
        self._by_address: dict[int, Datablock] = {}
        self._by_name: dict[bytes, Datablock] = {}
        self._pointers: dict[int, list[tuple[int, bool]]] = {}
        self._group()

    def __enter__(self) -> BlendReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()

    def _group(self) -> None:
        current = None
        for block in self.file.blocks:
            if block.code == b"DATA":
                if current is not None:
                    current.data[block.addr_old] = block
                continue
            current = None
            if block.code == b"ID" or (block.sdna_index != _RAW and block.dna_type.has_field(b"id")):
                current = self._by_address[block.addr_old] = Datablock(block)
                self.datablocks.append(current)

    def at(self, address: int) -> Datablock | None:
        return self._by_address.get(address)

    def named(self, full_name: bytes) -> Datablock | None:
        """The datablock of that name: the file's own before one that it links itself."""
        if not self._by_name:
            for found in sorted(self.datablocks, key=lambda one: not one.is_linked):
                self._by_name[found.full_name] = found
        return self._by_name.get(full_name)

    def links_from(self, library: Datablock) -> bool:
        """Whether datablocks are read from a library; else it only says where packed ones came from."""
        return any(one.is_linked and one.block[b"lib"] == library.block.addr_old for one in self.datablocks)

    def pieces(
        self, owner: Datablock, kinds: Container[bytes], uses: dict[int, Datablock]
    ) -> Iterator[Piece]:
        """Structures of ``kinds`` in ``owner``; other datablocks that it points at go into ``uses``."""
        seen = {id(owner.block)}
        waiting = [owner.block]
        while waiting:
            block = waiting.pop()
            if block.dna_type_id in kinds:
                for index in range(number_of(block)):
                    yield Piece(owner, block, index)
            for address in self._targets(owner, block):
                inner = owner.data.get(address)
                if inner is None:
                    other = self._by_address.get(address)
                    if other is not None and other is not owner:
                        uses[address] = other
                elif id(inner) not in seen and inner.sdna_index != _RAW:
                    seen.add(id(inner))
                    waiting.append(inner)

    def _targets(self, owner: Datablock, block: Any) -> Iterator[int]:
        places = self._pointers_of(block.sdna_index)
        if not places:
            return
        raw, size = block.raw_data(), block.dna_type.size
        for index in range(number_of(block)):
            for offset, double in places:
                at = index * size + offset
                for address in self._addresses(raw[at : at + self.file.header.pointer_size]):
                    if not double:
                        yield address
                        continue
                    row = owner.data.get(address)
                    if row is not None:
                        yield from self._addresses(row.raw_data())

    def _addresses(self, raw: bytes) -> Iterator[int]:
        width = self.file.header.pointer_size
        layout = ("<" if self.file.header.is_little_endian else ">") + ("Q" if width == 8 else "I")
        for (address,) in struct.iter_unpack(layout, raw[: len(raw) - len(raw) % width]):
            if address:
                yield address

    def _pointers_of(self, index: int) -> list[tuple[int, bool]]:
        """(offset, whether it points at a row of pointers) of every pointer in a structure."""
        if index not in self._pointers:
            self._pointers[index] = list(_pointers(self.file.structs[index], self.file.header.pointer_size))
        return self._pointers[index]


def number_of(block: Any) -> int:
    """How many structures stand in a block. A damaged file may say more than there is room for."""
    return max(1, min(int(block.count), int(block.size) // max(1, int(block.dna_type.size))))


def _pointers(kind: Any, width: int, base: int = 0) -> Iterator[tuple[int, bool]]:
    for one in kind.fields:
        name = one.name
        if kind.dna_type_id == b"ID" and name.name_only not in _HEADER_LEADS:
            continue
        if name.is_method_pointer or one.offset + one.size > kind.size:  # the latter in damaged files
            continue
        for number in range(name.array_size):
            if name.is_pointer:
                yield base + one.offset + number * width, name.name_full.startswith(b"**")
            elif one.dna_type.fields:
                yield from _pointers(one.dna_type, width, base + one.offset + number * one.dna_type.size)
