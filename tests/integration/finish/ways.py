"""The two ways to a frame: plain Blender, and pieces that are put together and finished."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import numpy as np
import OpenEXR
from PIL import Image

from farm.domain.tiles import Box, Size, TileGrid
from tests.integration.blender.driver import RenderProcess, look
from workers.protocol import Done, FinishFrame, Open, RenderFrame, RenderTile
from workers.volatile import is_volatile

SCRIPT = Path(__file__).with_name("plain.py")
FRAME = 3


class Plain:
    """Blender alone, in a folder of its own that holds a copy of the scene and all that it writes."""

    def __init__(self, scene: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.log = folder.with_suffix(".log")
        with self.log.open("wb") as log:
            self.child = subprocess.Popen(
                [sys.executable, str(SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=folder,
            )
        self.ask("open", shutil.copy(scene, folder))
        self.there = set(self._files())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            assert pipe is not None
            pipe.close()

    def ask(self, *message: Any) -> Any:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(repr(message) + "\n")
        self.child.stdin.flush()
        for line in iter(self.child.stdout.readline, ""):
            if line.startswith("="):
                return ast.literal_eval(line[1:])
        raise AssertionError(f"Blender ended; log: {self.log.read_text()[-4000:]}")

    def _files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def render(self, scene: str, frame: int = FRAME) -> list[Path]:
        """Files that Blender wrote for this frame; none where it refuses it."""
        self.ask("render", scene, frame)
        new = sorted(set(self._files()) - self.there)
        self.there.update(new)
        return new

    def pixels(self, path: Path) -> tuple[int, int, int, int, str]:
        found = self.ask("pixels", str(path))
        assert isinstance(found, tuple)
        return found


class Pieces:
    """The project's own way, in one render process."""

    def __init__(self, scene: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.child = RenderProcess(folder / "child.log")
        self.child.done(Open(str(shutil.copy(scene, folder))))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close()

    def merged(
        self,
        grid: TileGrid,
        size: Size,
        frame: int = FRAME,
        scene: str | None = None,
        overlap: int = 0,
        area: Box | None = None,
        **rest: Any,
    ) -> Path:
        """Render each tile of ``grid`` and put them together: bit for bit, nothing is computed.

        ``area`` is the render region, y down, where the scene has one.
        """
        area = area or size.box
        target = self.folder / f"merged-{grid.columns}x{grid.rows}-{frame}-{scene}.exr"
        parts: list[OpenEXR.Part] = []
        for index in range(len(grid)):
            tile = grid.tile(index, area, overlap)
            core, rendered = tile.core, tile.rendered
            border = rendered.border(size)
            piece = self.folder / "piece.exr"
            self.child.done(
                RenderTile(
                    look=look(frame, scene=scene, **rest),
                    border=[border.min_x, border.max_x, border.min_y, border.max_y],
                    width=rendered.width,
                    height=rendered.height,
                    exr=str(piece),
                    preview=str(self.folder / "piece.jpg"),
                )
            )
            with OpenEXR.File(str(piece), separate_channels=True) as file:
                if not parts:
                    parts = [_empty(part, area) for part in file.parts]
                for whole, part in zip(parts, file.parts, strict=True):
                    for name, channel in part.channels.items():
                        top, left = core.y - rendered.y, core.x - rendered.x
                        y, x = core.y - area.y, core.x - area.x
                        whole.channels[name].pixels[y : y + core.height, x : x + core.width] = channel.pixels[
                            top : top + core.height, left : left + core.width
                        ]
        OpenEXR.File(parts).write(str(target))
        return target

    def finish(
        self, merged: Path, out: str, scene: str | None = None, frame: int = FRAME, **rest: Any
    ) -> Done:
        preview = str(self.folder / "finish.jpg")
        exr = rest.pop("exr", None)
        request = FinishFrame(
            look(frame, scene=scene, **rest), str(merged), str(self.folder / out), preview, exr
        )
        return self.child.done(request)

    def whole(self, out: str, scene: str | None = None, frame: int = FRAME, **rest: Any) -> Done:
        preview = str(self.folder / "whole.jpg")
        exr = rest.pop("exr", None)
        request = RenderFrame(look(frame, scene=scene, **rest), str(self.folder / out), preview, exr)
        return self.child.done(request)


def _empty(part: OpenEXR.Part, area: Box) -> OpenEXR.Part:
    skip = ("dataWindow", "displayWindow", "channels", "chunkCount")
    header = {key: value for key, value in part.header.items() if key not in skip}
    channels = {
        name: np.zeros((area.height, area.width), channel.pixels.dtype)
        for name, channel in part.channels.items()
    }
    return OpenEXR.Part(header, channels, part.header["name"])


def metadata(path: Path) -> dict[str, str]:
    """Text that Blender wrote into a picture, but for what is volatile."""
    if path.suffix == ".exr":
        with OpenEXR.File(str(path), header_only=True) as file:
            found = {key: value for key, value in file.parts[0].header.items() if isinstance(value, str)}
    elif path.suffix == ".png":
        with Image.open(path) as image:
            found = dict(image.text)
    elif path.suffix in (".jpg", ".jpeg"):
        found = dict(_comments(path.read_bytes()))
    else:
        found = {}
    return {key: value for key, value in found.items() if not is_volatile(key)}


def _comments(data: bytes) -> list[tuple[str, str]]:
    """(key, value) of each ``Blender:key:value`` comment of a JPEG."""
    found, at = [], 2
    while data[at] == 0xFF and data[at + 1] != 0xDA:
        length = int.from_bytes(data[at + 2 : at + 4])
        if data[at + 1] == 0xFE and data[at + 4 :].startswith(b"Blender:"):
            _, key, value = data[at + 4 : at + 2 + length].rstrip(b"\0").decode().split(":", 2)
            found.append((key, value))
        at += 2 + length
    return found
