"""Frame ranges as people write them: ``1-10x2,15`` is frames 1, 3, 5, 7, 9 and 15."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import overload

from farm.domain.errors import UsageError

#: Blender's own limits (MINAFRAME, MAXFRAME in DNA_scene_types.h).
FIRST_FRAME, LAST_FRAME = -1_048_574, 1_048_574

#: Ranges that interleave are spelled out; more runs than this are a slip, and too long to keep.
MOST_RUNS = 10_000

_PART = re.compile(r"(-?[0-9]{1,9})(?:-(-?[0-9]{1,9})(?:x([0-9]{1,9}))?)?")
_CURE = "Write frames as 7, 1-10, 1-10x2 (every second) or several of these with commas."


@dataclass(frozen=True, slots=True)
class FrameRange(Sequence[int]):
    """A sorted, sized, indexable set of frames that never lists them: a million cost what ten do.

    `parts` are disjoint ascending ranges, so index *i* is frame *i* in ascending order.
    """

    parts: tuple[range, ...]

    @classmethod
    def parse(cls, text: str) -> FrameRange:
        """Read ``text``; raise `UsageError` with a cure for anything else than the grammar above."""
        parts: list[range] = []
        for piece in text.split(","):
            found = _PART.fullmatch(piece.strip())
            if not found:
                raise UsageError(f"“{text}” is not a frame range.", _CURE)
            first = int(found[1])
            last = int(found[2]) if found[2] is not None else first
            step = int(found[3]) if found[3] is not None else 1
            parts.append(_checked(first, last, step))
        return cls(_disjoint(parts))

    @classmethod
    def of(cls, first: int, last: int, step: int = 1) -> FrameRange:
        """Frames ``first`` to ``last`` (both in), every ``step``-th; raises `UsageError` as `parse` does."""
        return cls((_checked(first, last, step),))

    @classmethod
    def only(cls, frames: Iterable[int]) -> FrameRange:
        """Just these frames, in runs of equal step; raises `UsageError` where the runs are too many."""
        return cls(_runs(sorted(set(frames))))

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        rest = index if index >= 0 else index + len(self)
        for part in self.parts:
            if 0 <= rest < len(part):
                return part[rest]
            rest -= len(part)
        raise IndexError(index)

    def __iter__(self) -> Iterator[int]:
        for part in self.parts:
            yield from part

    def __contains__(self, frame: object) -> bool:
        part = self._part_at(frame) if isinstance(frame, int) else None
        return part is not None and frame in part

    def place(self, frame: int) -> int:
        """The index of ``frame``, without going through those before; raises ValueError where it is none."""
        at = bisect_right(self.parts, frame, key=itemgetter(0)) - 1
        if at < 0 or frame not in self.parts[at]:
            raise ValueError(f"{frame} is not in {self}")
        return sum(map(len, self.parts[:at])) + self.parts[at].index(frame)

    def lacking(self, wanted: FrameRange) -> int | None:
        """The first frame of ``wanted`` that is none of these; None where all are here."""
        for part in wanted.parts:
            here = self._part_at(part[0])
            if here is not None and part[0] in here and part[-1] in here and part.step % here.step == 0:
                continue  # without looking at each: they may be a million
            for frame in part:
                if frame not in self:
                    return frame
        return None

    def _part_at(self, frame: int) -> range | None:
        """The one part that ``frame`` could be in."""
        index = bisect_right(self.parts, frame, key=itemgetter(0)) - 1
        return self.parts[index] if index >= 0 else None

    def __str__(self) -> str:
        return ",".join(map(_written, self.parts))


def _checked(first: int, last: int, step: int) -> range:
    text = f"{first}-{last}" + (f"x{step}" if step != 1 else "")
    if last < first:
        raise UsageError(f"Frame range “{text}” runs backwards.", f"Write {last}-{first}.")
    if step < 1:
        raise UsageError(f"Frame range “{text}” has a step of {step}.", _CURE)
    if first < FIRST_FRAME or last > LAST_FRAME:
        raise UsageError(
            f"Frame range “{text if first != last else first}” is outside of what Blender knows.",
            f"Blender's frames run from {FIRST_FRAME} to {LAST_FRAME}.",
        )
    return range(first, last + 1, step)


def _written(part: range) -> str:
    if len(part) == 1:
        return str(part[0])
    return f"{part[0]}-{part[-1]}" + (f"x{part.step}" if part.step > 1 else "")


def _disjoint(parts: list[range]) -> tuple[range, ...]:
    """Sort; where ranges interleave, spell out their union as runs of equal step."""
    parts = sorted(parts, key=lambda part: (part[0], part[-1]))
    if all(a[-1] < b[0] for a, b in pairwise(parts)):
        return tuple(parts)
    low = parts[0][0]
    there = bytearray(max(part[-1] for part in parts) - low + 1)
    for part in parts:  # a slice is filled at once: many long ranges are no burden
        there[part[0] - low : part[-1] - low + 1 : part.step] = b"\1" * len(part)
    return _runs([low + index for index, in_range in enumerate(there) if in_range])


def _runs(frames: list[int]) -> tuple[range, ...]:
    """Ascending frames as ranges of equal step."""
    runs: list[range] = []
    start = 0
    while start < len(frames):
        end = start + 1
        step = frames[end] - frames[start] if end < len(frames) else 1
        while end < len(frames) and frames[end] - frames[end - 1] == step:
            end += 1
        runs.append(range(frames[start], frames[end - 1] + 1, step))
        start = end
        if len(runs) > MOST_RUNS:
            raise UsageError(f"These frame ranges interleave to more than {MOST_RUNS} runs.", _CURE)
    return tuple(runs)
