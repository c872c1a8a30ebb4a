"""Ranges of a frame's samples, put together to what all of them would have given.

All sums are float64 and divided once: what differs from the frame rendered whole is how float32 rounds
inside of Cycles. `workers.imaging.passes` tells how each pass is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from workers.imaging.cryptomatte import merged_slots
from workers.imaging.exr import Array, Part
from workers.imaging.passes import Kind, colour_of, cryptomatte_of, kind_of
from workers.imaging.pieces import Piece

Pixels = dict[int, dict[str, Array]]  # by part and channel
Named = tuple[int, list[str]]  # a pass: its part, and its channels in the order of their names

_STRIP_BYTES = 128 * 1024 * 1024  # of pixels of all pieces that are in memory at once
_LINES = 16  # of a block, as Blender writes them: strips of whole blocks are decoded once
_LARGEST = float(np.finfo(np.float32).max)


class SampleMerge:
    """Sums up the pieces of one frame, a few lines at a time.

    The first piece that has sample 0 gives the passes that only sample 0 writes; of several pictures, the
    one with the lowest seed. ``uneven`` are the passes that differ between the ranges though no file
    tells how they are to be weighed: their averages are near to the whole frame's values, not the same.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        ranges = [piece.file.samples or [] for piece in pieces]
        self._counts = [each[1] for each in ranges]
        #: The pieces picture by picture, the lowest seed first, and in each by their samples.
        self._order = sorted(range(len(pieces)), key=lambda n: (ranges[n][3], ranges[n][2], ranges[n][0]))
        self._passes: dict[tuple[str, str], Named] = {}
        for number, part in enumerate(pieces[0].parts):
            for name, channels in part.passes.items():
                self._passes[part.view, name] = (number, channels)
        self.uneven: set[str] = set()

    def groups(self) -> Iterator[list[int]]:
        """Numbers of the parts that have to be merged at once: all levels of a Cryptomatte, or just one."""
        done: set[int] = set()
        for number, part in enumerate(self._pieces[0].parts):
            if number in done:
                continue
            group = {number}
            for name in part.passes:
                if kind_of(name) is Kind.CRYPTOMATTE:
                    group |= {level for level, _ in self._levels(part.view, name)}
            done |= group
            yield sorted(group)

    def fill(self, group: Sequence[int], frame: Pixels) -> None:
        """Write the parts of ``group`` into ``frame``, whose arrays are of the whole area."""
        parts = self._pieces[0].parts
        needed = sorted({*group, *(n for part in group for n in self._divisors(parts[part]))})
        height, width = parts[0].height, parts[0].width
        channels = sum(len(parts[number].channels) for number in needed)
        line = 4 * width * channels * len(self._pieces)
        strip = max(1, _STRIP_BYTES // (line * _LINES)) * _LINES
        for top in range(0, height, strip):
            bottom = min(height, top + strip)
            self._fill_lines(group, frame, _Strip(self._pieces, needed, top, bottom))

    def _fill_lines(self, group: Sequence[int], frame: Pixels, strip: _Strip) -> None:
        levels: set[tuple[str, str]] = set()
        for number in group:
            part = self._pieces[0].parts[number]
            for name, channels in part.passes.items():
                kind = kind_of(name)
                if kind is Kind.CRYPTOMATTE:
                    levels.add((part.view, cryptomatte_of(name)))
                    continue
                found = self._merged(kind, part, name, (number, channels), strip)
                for channel, values in zip(channels, found, strict=True):
                    frame[number][channel][strip.top : strip.bottom] = values
        for view, name in sorted(levels):
            ordered = name == self._first_cryptomatte(view, name)
            self._merge_cryptomatte(self._levels(view, f"{name}00"), frame, strip, ordered=ordered)

    def _merged(self, kind: Kind, part: Part, name: str, named: Named, strip: _Strip) -> list[Array]:
        if kind is Kind.FIRST:
            return strip.of(self._order[0], named)
        colour = self._passes.get((part.view, colour_of(name))) if kind is Kind.DIVIDED else None
        if colour and len(colour[1]) == len(named[1]):
            return self._divided(named, colour, strip)
        if kind in (Kind.DIVIDED, Kind.QUOTIENT) and strip.differs(named):
            self.uneven.add(name)
        sums = self._sums(named, strip)
        if kind is Kind.CAPPED:
            sums = [np.minimum(each, _LARGEST) for each in sums]
        return [each / sum(self._counts) for each in sums]

    def _sums(self, named: Named, strip: _Strip, weights: Named | None = None) -> list[Array]:
        """Of each channel, the values of all samples added up, each times its weight."""
        sums = [np.zeros(strip.shape) for _ in named[1]]
        for number, count in enumerate(self._counts):
            values = [each.astype(np.float64) for each in strip.of(number, named)]
            if weights:
                values = [a * b for a, b in zip(values, strip.of(number, weights), strict=True)]
            for total, value in zip(sums, values, strict=True):
                total += value * count
        return sums

    def _divided(self, named: Named, colour: Named, strip: _Strip) -> list[Array]:
        """Light divided by colour: of each range the quotient times its colour is the light again.

        Where a channel has no colour, it takes the mean of those that have, as Cycles does.
        """
        light, by = self._sums(named, strip, colour), self._sums(colour, strip)
        has = [each != 0 for each in by]
        quotients = [
            np.divide(a, b, out=np.zeros_like(a), where=b != 0) for a, b in zip(light, by, strict=True)
        ]
        known = np.maximum(np.sum(has, axis=0), 1)
        grey = np.sum(quotients, axis=0) / known
        return [np.where(mine, each, grey) for mine, each in zip(has, quotients, strict=True)]

    def _divisors(self, part: Part) -> Iterator[int]:
        for name in part.passes:
            if kind_of(name) is Kind.DIVIDED and (part.view, colour_of(name)) in self._passes:
                yield self._passes[part.view, colour_of(name)][0]

    def _levels(self, view: str, name: str) -> list[Named]:
        """The levels of a Cryptomatte in their order."""
        own = cryptomatte_of(name)
        return [
            self._passes[key]
            for key in sorted(self._passes)
            if key[0] == view and kind_of(key[1]) is Kind.CRYPTOMATTE and cryptomatte_of(key[1]) == own
        ]

    def _first_cryptomatte(self, view: str, name: str) -> str:
        """The kind that Cycles keeps first in the layer of ``name``: the only one that it sorts."""
        layer = name.rpartition(".")[0]
        kinds = [f"{layer}.{kind}" for kind in ("CryptoObject", "CryptoMaterial", "CryptoAsset")]
        return next(kind for kind in kinds if self._levels(view, f"{kind}00"))

    def _merge_cryptomatte(
        self, levels: Sequence[Named], frame: Pixels, strip: _Strip, *, ordered: bool
    ) -> None:
        pairs = [pair for level in levels for pair in _pairs(level)]
        ids, coverages = [], []
        for number in self._order:
            pixels = strip.pixels[number]
            ids.append(np.stack([pixels[part][a].ravel().view(np.uint32) for part, a, _ in pairs]))
            coverages.append(np.stack([pixels[part][b].ravel() for part, _, b in pairs]))
        counts = [self._counts[number] for number in self._order]
        merged = merged_slots(ids, coverages, counts, ordered=ordered)
        for (part, a, b), one, other in zip(pairs, *merged, strict=True):
            lines = slice(strip.top, strip.bottom)
            frame[part][a][lines] = one.view(np.float32).reshape(strip.shape)
            frame[part][b][lines] = other.reshape(strip.shape)


class _Strip:
    """Lines [``top``, ``bottom``) of some parts of all pieces, by piece, part and channel."""

    def __init__(self, pieces: Sequence[Piece], parts: Sequence[int], top: int, bottom: int) -> None:
        self.top, self.bottom = top, bottom
        self.shape = (bottom - top, pieces[0].parts[0].width)
        self.pixels: list[Mapping[int, Mapping[str, Array]]] = [
            {number: piece.pixels(number, top, bottom) for number in parts} for piece in pieces
        ]

    def of(self, piece: int, named: Named) -> list[Array]:
        part, channels = named
        return [self.pixels[piece][part][channel] for channel in channels]

    def differs(self, named: Named) -> bool:
        first = self.of(0, named)
        return any(
            not np.array_equal(mine, theirs)
            for number in range(1, len(self.pixels))
            for mine, theirs in zip(first, self.of(number, named), strict=True)
        )


def _pairs(level: Named) -> list[tuple[int, str, str]]:
    """Of a level's channels r, g, b, a: part, id and coverage of its two slots."""
    part, channels = level
    by = {channel.rpartition(".")[2].lower(): channel for channel in channels}
    return [(part, by["r"], by["g"]), (part, by["b"], by["a"])]
