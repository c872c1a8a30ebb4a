"""Where datablocks name files: which field, what it means, and how many files it stands for.

The list is that of `foreach_path` in Blender's `IDTypeInfo`s, plus what is kept in a folder without being
named: caches of simulations (`ptcache_path`) and bakes of geometry nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from farm.assets.datablocks import BlendReader, Datablock, Piece, number_of

_FROM_FILES = frozenset({1, 2, 3, 6})  # Image.source: file, sequence, movie, tiled
_SEQUENCE, _TILED = 2, 6
_CLIP_SEQUENCE = 1  # MovieClip.source
_EXTERNAL_NODE = 1  # NodeShaderScript.mode, NodeShaderTexIES.mode, Camera.custom_mode
_STRIP_IMAGE, _STRIP_SOUNDS = 0, (4, 5)  # Sequence.type
_STRIPS_OF_FILES = (_STRIP_IMAGE, 3, *_STRIP_SOUNDS)  # 3 is a movie
_DISK_CACHE, _EXTERNAL_CACHE = 64, 512  # PointCache.flag
_FILE_PATH = 1  # bNodeSocketValueString.subtype
_FLUID_FOLDERS = (b"config", b"data", b"guiding", b"mesh", b"noise", b"particles", b"script")
_PACKED, _CUSTOM_FOLDER = 1, 2  # NodesModifierBake.bake_target, .flag

_NOUNS = {
    "CA": "camera",
    "CF": "cache",
    "IM": "image",
    "LA": "light",
    "LI": "library",
    "MA": "material",
    "MC": "movie clip",
    "ME": "mesh",
    "NT": "node group",
    "OB": "object",
    "PA": "particles",
    "SC": "scene",
    "SO": "sound",
    "VF": "font",
    "VO": "volume",
    "WO": "world",
}


class Shape(StrEnum):
    """How many files a path stands for."""

    FILE = "file"
    SEQUENCE = "sequence"  # the file and those that differ from it by their number
    TILES = "tiles"  # a name with <UDIM> or <UVTILE>
    NAMES = "names"  # the files of a folder that `Link.inside` names
    FOLDER = "folder"  # the files of a folder that match the patterns of `Link.inside`


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a path stands in the unpacked file: at byte ``offset``, with ``room`` for it.

    A path that ``grows`` has a block of its own, which can be made larger.
    """

    offset: int
    room: int
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A path as a datablock has it. ``user`` names the datablock in words."""

    user: str
    written: bytes
    shape: Shape = Shape.FILE
    slot: Slot | None = None  # None: not written anywhere, it follows from the place of the .blend
    inside: tuple[bytes, ...] = ()
    needed: bool = True  # whether its absence is worth telling
    library: Datablock | None = None  # the path is relative to this one's place, not the file's own


def links_of(reader: BlendReader, owner: Datablock, uses: dict[int, Datablock]) -> Iterator[Link]:
    """The paths in ``owner``; datablocks that it points at go into ``uses``."""
    library = reader.at(owner.block.get((b"id", b"lib"), default=0)) if owner.code != "LI" else None
    for piece in reader.pieces(owner, _READERS, uses):
        for link in _READERS[piece.kind](piece):
            if link.written:
                needed = link.needed and (owner.code != "LI" or reader.links_from(owner))
                yield replace(link, user=user_of(owner), library=library, needed=needed)


def user_of(owner: Datablock) -> str:
    """A datablock in words: ``image “Wood”``."""
    name = owner.full_name[2:].decode("utf-8", "replace")
    return f"{_NOUNS.get(owner.code, 'datablock')} “{name}”"


def _text(piece: Piece, *names: bytes) -> tuple[bytes, Slot]:
    """The first of several fields that this version of Blender writes: its text and its slot."""
    for name in names:
        if piece.has(name):
            return bytes(piece.get(name)), Slot(*piece.room(name))
    return b"", Slot(0, 0)


def _link(piece: Piece, *names: bytes, **rest: Any) -> Link:
    text, slot = _text(piece, *names)
    return Link("", text, slot=slot, **rest)


def _plain(piece: Piece) -> Iterator[Link]:
    if not piece.get(b"packedfile", 0):
        yield _link(piece, b"name", b"filepath")


def _by_filepath(piece: Piece) -> Iterator[Link]:
    yield _link(piece, b"filepath")


def _font(piece: Piece) -> Iterator[Link]:
    for link in _plain(piece):
        if link.written != b"<builtin>":
            yield link


def _image(piece: Piece) -> Iterator[Link]:
    packed = piece.get(b"packedfile", 0) or piece.get((b"packedfiles", b"first"), 0)
    source = piece.get(b"source", 1)
    if packed or source not in _FROM_FILES:
        return
    shape = {_SEQUENCE: Shape.SEQUENCE, _TILED: Shape.TILES}.get(source, Shape.FILE)
    yield _link(piece, b"name", b"filepath", shape=shape)


def _view(piece: Piece) -> Iterator[Link]:
    """One eye of an image in several files."""
    if piece.owner.code == "IM" and piece.owner.block.get(b"source", default=1) in _FROM_FILES:
        yield _link(piece, b"filepath")


def _volume(piece: Piece) -> Iterator[Link]:
    if not piece.get(b"packedfile", 0):
        yield _link(piece, b"filepath", shape=Shape.SEQUENCE if piece.get(b"is_sequence", 0) else Shape.FILE)


def _cache_file(piece: Piece) -> Iterator[Link]:
    yield _link(piece, b"filepath", shape=Shape.SEQUENCE if piece.get(b"is_sequence", 0) else Shape.FILE)


def _clip(piece: Piece) -> Iterator[Link]:
    sequence = piece.get(b"source", 0) == _CLIP_SEQUENCE
    yield _link(piece, b"name", b"filepath", shape=Shape.SEQUENCE if sequence else Shape.FILE)


def _library(piece: Piece) -> Iterator[Link]:
    if not piece.get(b"packedfile", 0):
        yield _link(piece, b"name", b"filepath")


def _multires(piece: Piece) -> Iterator[Link]:
    yield _link(piece, b"filename")


def _node_file(piece: Piece) -> Iterator[Link]:
    if piece.get(b"mode", 0) == _EXTERNAL_NODE:
        yield _link(piece, b"filepath")


def _camera(piece: Piece) -> Iterator[Link]:
    if piece.get(b"custom_mode", 0) == _EXTERNAL_NODE:
        yield _link(piece, b"custom_filepath")


def _socket(piece: Piece) -> Iterator[Link]:
    if piece.get(b"subtype", 0) == _FILE_PATH:
        yield _link(piece, b"value")


def _strip(piece: Piece) -> Iterator[Link]:
    """A strip of the sequencer: a folder and, for images, many names in it.

    A sound strip repeats the path of its sound, which says whether it is needed.
    """
    kind = piece.get(b"type", -1)
    content = piece.follow(b"strip")
    if content is None or kind not in _STRIPS_OF_FILES:
        return
    strip = Piece(piece.owner, content, 0)
    elements = strip.follow(b"stripdata")
    if elements is None:
        return
    number = number_of(elements) if kind == _STRIP_IMAGE else 1
    names = [bytes(Piece(piece.owner, elements, index).get(b"name")) for index in range(number)]
    inside, needed = tuple(dict.fromkeys(filter(None, names))), kind not in _STRIP_SOUNDS
    yield _link(strip, b"dir", shape=Shape.NAMES, inside=inside, needed=needed)


def _point_cache(piece: Piece) -> Iterator[Link]:
    flag = piece.get(b"flag", 0)
    if flag & _EXTERNAL_CACHE:
        yield _link(piece, b"path", shape=Shape.FOLDER, inside=(b"*.bphys", b"*.vdb"))
    elif flag & _DISK_CACHE:
        stem = piece.block.bfile.filepath.stem
        folder = f"//blendcache_{stem}".encode(errors="surrogateescape")
        yield Link("", folder, Shape.FOLDER, inside=(b"*",), needed=False)


def _fluid(piece: Piece) -> Iterator[Link]:
    inside = tuple(b"%b/*" % kind for kind in _FLUID_FOLDERS)
    yield _link(piece, b"cache_directory", shape=Shape.FOLDER, inside=inside, needed=False)


def _ocean(piece: Piece) -> Iterator[Link]:
    if piece.get(b"cached", 0):
        inside = (b"disp_*", b"foam_*", b"normal_*", b"spray_*")
        yield _link(piece, b"cachepath", shape=Shape.FOLDER, inside=inside)


def _nodes(piece: Piece) -> Iterator[Link]:
    """Bakes of geometry nodes: each in its own folder, or in one named by its number below a common one."""
    bakes = piece.follow(b"bakes")
    if bakes is None:
        return
    common = piece.follow(b"simulation_bake_directory")
    inherited = piece.get(b"bake_target", 0)
    for index in range(number_of(bakes)):
        bake = Piece(piece.owner, bakes, index)
        if (bake.get(b"bake_target", 0) or inherited) == _PACKED:
            continue
        custom = bool(bake.get(b"flag", 0) & _CUSTOM_FOLDER)
        folder = bake.follow(b"directory") if custom else common
        if folder is not None:
            text = folder.as_bytes_string()
            slot = Slot(folder.file_offset, folder.size, grows=True)
            below = b"" if custom else b"%d/" % bake.get(b"id")
            inside = (below + b"meta/*", below + b"blobs/*")
            yield Link("", text, Shape.FOLDER, slot, inside, needed=False)


_READERS: dict[bytes, Callable[[Piece], Iterator[Link]]] = {
    b"CacheFile": _cache_file,
    b"CacheFileLayer": _by_filepath,
    b"Camera": _camera,
    b"CustomDataExternal": _multires,
    b"FluidDomainSettings": _fluid,
    b"Image": _image,
    b"ImageView": _view,
    b"Library": _library,
    b"MeshCacheModifierData": _by_filepath,
    b"MovieClip": _clip,
    b"NodeShaderScript": _node_file,
    b"NodeShaderTexIES": _node_file,
    b"NodesModifierData": _nodes,
    b"OceanModifierData": _ocean,
    b"PointCache": _point_cache,
    b"Sequence": _strip,
    b"VFont": _font,
    b"Volume": _volume,
    b"bNodeSocketValueString": _socket,
    b"bSound": _plain,
}
