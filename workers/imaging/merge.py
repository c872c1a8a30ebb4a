"""Merge: the pieces of a frame become one multilayer EXR, every part and channel.

Pieces by area are copied, bit for bit; pieces by samples are averaged (`workers.imaging.samples`).
Boxes and headers of all pieces are checked before a pixel is read.

Part after part is put together, hashed and written: in memory are one part of the frame (of Blender 5, a
pass; of sample ranges, all levels of a Cryptomatte) and one part of a piece, or a few lines of all of
them. The single part of Blender 4's files is the whole frame.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from workers.child import Link
from workers.imaging.boxes import check_boxes, check_ranges, checked_area
from workers.imaging.check import OVERFLOW, broken, told
from workers.imaging.digests import digests_of
from workers.imaging.exr import Array
from workers.imaging.files import replacing
from workers.imaging.passes import is_combined
from workers.imaging.pieces import Piece, headers_of, opened
from workers.imaging.samples import Pixels, SampleMerge
from workers.imaging.seams import Seams
from workers.imaging.writer import PartWriter
from workers.protocol import Count, Done, MergeFrame


class _Suspicious(Exception):
    """Pieces look wrong, and nothing is to be written."""


def merge_frame(request: MergeFrame, link: Link) -> Done:
    """Answer `MergeFrame`: `outputs` is the file's name, `seconds` has load and save.

    Raises `Refusal` (bad-result) for pieces that do not make the frame, OSError, MemoryError.
    """
    started = time.monotonic()
    by_samples = any(file.samples is not None for file in request.pieces)
    (check_ranges if by_samples else check_boxes)(request.pieces, request.width, request.height, request.area)
    area = checked_area(request.width, request.height, request.area)
    pieces = opened(request.pieces)
    headers = headers_of(pieces)
    merge = _Merge(pieces, area, SampleMerge(pieces) if by_samples else None)
    saving = 0.0
    digests: dict[str, str] = {}
    try:
        with replacing(request.out) as file, ThreadPoolExecutor(1) as hashing:
            parts = pieces[0].parts
            writer = PartWriter(file, list(zip(parts, headers, strict=True)), *area[2:])
            for done, (number, pixels) in enumerate(merge.parts(), start=1):
                digest = hashing.submit(digests_of, parts[number], pixels)
                since = time.monotonic()
                writer.write(number, pixels)
                digests |= digest.result()
                saving += time.monotonic() - since
                del pixels  # before the next part is read
                link.send(Count("merging", done, len(parts)))
            writer.finish()
            if merge.seams.suspects:
                raise _Suspicious
    except _Suspicious:
        digests, outputs = {}, []
    else:
        outputs = [Path(request.out).name]
    return Done(
        outputs=outputs,
        seconds={"load": time.monotonic() - started - saving, "save": saving},
        report={"digests": digests, "suspects": merge.seams.suspects},
        notes=merge.notes(),
    )


class _Merge:
    """The merged frame, part by part, and what is learnt of the pieces on the way."""

    def __init__(self, pieces: Sequence[Piece], area: Sequence[int], samples: SampleMerge | None) -> None:
        self._pieces = pieces
        self._left, self._top, self._width, self._height = area
        self._samples = samples
        self.seams = Seams([piece.file for piece in pieces])

    def parts(self) -> Iterator[tuple[int, dict[str, Array]]]:
        """Number and pixels of each part; raises `Refusal`."""
        groups = self._samples.groups() if self._samples else ([n] for n in range(len(self._pieces[0].parts)))
        for group in groups:
            frame: Pixels = {number: self._empty(number) for number in group}
            if self._samples:
                self._samples.fill(group, frame)
                self._look_at_ranges(group)
            else:
                for number in group:
                    self._place(number, frame[number])
            for number in group:
                yield number, frame.pop(number)

    def _empty(self, number: int) -> dict[str, Array]:
        channels = self._pieces[0].parts[number].channels
        return {each.name: np.empty((self._height, self._width), each.dtype) for each in channels}

    def _place(self, number: int, frame: dict[str, Array]) -> None:
        for piece in self._pieces:
            pixels = piece.pixels(number)
            self._check(piece, number, pixels)
            x, y, width, height = piece.file.core
            x, y = x - self._left, y - self._top
            for channel, array in pixels.items():
                frame[channel][y : y + height, x : x + width] = array
        self.seams.frame(self._pieces[0].parts[number], frame, self._left, self._top)

    def _look_at_ranges(self, group: Sequence[int]) -> None:
        for number in group:
            if any(map(is_combined, self._pieces[0].parts[number].passes)):
                for piece in self._pieces:
                    self._check(piece, number, piece.pixels(number))
        self.seams.ranges()

    def _check(self, piece: Piece, number: int, pixels: dict[str, Array]) -> None:
        part = piece.parts[number]
        self.seams.piece(piece.number, part, pixels)
        for name, channels in part.passes.items():
            wrong = 0 if piece.file.sure or not is_combined(name) else broken(pixels, channels)
            if wrong:
                raise piece.refusal(told(wrong, name, part.view), OVERFLOW)

    def notes(self) -> list[str]:
        """What people should know about the merged frame."""
        black = self.seams.black
        notes = [
            f"{self._pieces[number].name} is completely black and transparent."
            for number in black
            if self._pieces[number].file.sure and len(black) < len(self._pieces)
        ]
        if self._samples and self._samples.uneven:
            names = ", ".join(f"“{name}”" for name in sorted(self._samples.uneven))
            notes.append(f"Averaged by samples, so near to the whole frame but not the same: {names}.")
        return notes
