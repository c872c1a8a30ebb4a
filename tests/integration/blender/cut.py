"""Frames cut into pieces and put together again, through the render process's own door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from farm.domain.tiles import Box, InnerTiles, Size, TileGrid
from tests.integration.blender.driver import RenderProcess, look, read_exr
from workers.protocol import FinishFrame, RenderFrame, RenderTile

FRAME = Size(161, 91)

Channels = dict[str, np.ndarray]


def tile(
    child: RenderProcess,
    box: Box,
    exr: Path,
    frame: int = 3,
    size: Size = FRAME,
    part: list[int] | None = None,
    **rest: Any,
) -> None:
    """Render the pixels of ``box`` to ``exr``."""
    border = box.border(size)
    child.done(
        RenderTile(
            look=look(frame, **rest),
            border=[border.min_x, border.max_x, border.min_y, border.max_y],
            width=box.width,
            height=box.height,
            exr=str(exr),
            preview=str(exr.with_suffix(".jpg")),
            samples=part,
        )
    )


def whole(child: RenderProcess, exr: Path, frame: int = 3, size: Size = FRAME, **rest: Any) -> Channels:
    """Render all pixels of a frame as one piece; returns what is in it."""
    tile(child, size.box, exr, frame, size, **rest)
    return read_exr(exr)


def assembled(
    child: RenderProcess,
    grid: str,
    folder: Path,
    *,
    area: Box | None = None,
    overlap: int = 0,
    inner: InnerTiles | None = None,
    size: Size = FRAME,
    **rest: Any,
) -> Channels:
    """Render ``area`` in pieces and put them together: every channel, of the area alone."""
    area = area or size.box
    found: Channels = {}
    for piece in TileGrid.parse(grid).tiles(area, overlap, inner):
        exr = folder / f"piece-{piece.index}.exr"
        tile(child, piece.rendered, exr, size=size, **rest)
        core, rendered = piece.core, piece.rendered
        into = np.s_[core.y - area.y :, core.x - area.x :][0:2]
        part = np.s_[
            core.y - rendered.y : core.y - rendered.y + core.height,
            core.x - rendered.x : core.x - rendered.x + core.width,
        ]
        for name, channel in read_exr(exr).items():
            held = found.setdefault(name, np.full((area.height, area.width), np.nan, channel.dtype))
            held[into][: core.height, : core.width] = channel[part]
        exr.unlink()
    return found


def direct(
    child: RenderProcess, folder: Path, frame: int = 3, scene: str | None = None, **rest: Any
) -> list[str]:
    """Render a whole frame as Blender does; returns the names of its files."""
    preview = str(folder.parent / "direct.jpg")
    return child.done(RenderFrame(look(frame, scene=scene, **rest), str(folder), preview)).outputs


def finish(
    child: RenderProcess, merged: Path, folder: Path, scene: str | None = None, **rest: Any
) -> list[str]:
    """Finish a merged frame; returns the names of its files."""
    preview = str(folder.parent / "finish.jpg")
    return child.done(FinishFrame(look(scene=scene, **rest), str(merged), str(folder), preview)).outputs


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


def same_files(first: Path, second: Path) -> list[str]:
    """Names of files that are not the same picture, value for value, or only in one of the folders."""
    names = [{str(path.relative_to(folder)) for path in folder.rglob("*.*")} for folder in (first, second)]
    odd = sorted(names[0] ^ names[1])
    for name in sorted(names[0] & names[1]):
        if name.endswith(".exr"):
            one, other = read_exr(first / name), read_exr(second / name)
            same = set(one) == set(other) and all(one[key].tobytes() == other[key].tobytes() for key in one)
        else:
            same = np.array_equal(pixels(first / name), pixels(second / name))
        if not same:
            odd.append(name)
    return odd
