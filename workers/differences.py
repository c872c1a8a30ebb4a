"""How two pictures differ, counted: what a proof says of a pass or a file, on both sides of it.

Where the tolerance is 0, values are compared bit for bit, so that 0.0 is not -0.0; one that is not a
number equals every other that is none. Numpy, Python 3.11 syntax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

#: Stands for a difference that is no number, as between infinity and 1: JSON knows neither.
ENDLESS = float(np.finfo(np.float32).max)


@dataclass
class Differences:
    """Of arrays that are added one by one: the channels of a picture of ``shape`` (height, width).

    ``tolerance`` is relative to max(1, |reference|). ``largest`` is the largest difference of a value,
    `ENDLESS` where it is no number.
    """

    shape: tuple[int, int]
    tolerance: float = 0.0
    largest: float = 0.0
    same: bool = True

    def __post_init__(self) -> None:
        self._touched = np.zeros(self.shape[0] * self.shape[1], bool)

    @property
    def pixels(self) -> int:
        """How many there are."""
        return int(self._touched.size)

    @property
    def differing(self) -> int:
        """Pixels with any difference, within the tolerance or not."""
        return int(np.count_nonzero(self._touched))

    @property
    def note(self) -> str:
        """What the numbers do not say."""
        if self.same and self.differing:
            return f"within {self.tolerance:g}"
        if self.largest == ENDLESS:
            return "a value is infinite, or not a number, on one side only"
        if self.differing and not self.largest:
            return "only the signs of zeros differ"
        return ""

    def add(self, reference: npt.NDArray[Any], candidate: npt.NDArray[Any]) -> None:
        """Compare one channel, (height, width) each, of one type."""
        ours, theirs = np.ascontiguousarray(reference).ravel(), np.ascontiguousarray(candidate).ravel()
        bits = f"u{ours.dtype.itemsize}"
        where = np.flatnonzero(ours.view(bits) != theirs.view(bits))
        if not where.size:
            return
        a, b = ours[where].astype(np.float64), theirs[where].astype(np.float64)
        real = ~(np.isnan(a) & np.isnan(b))
        where, a, b = where[real], a[real], b[real]
        if not where.size:
            return
        self._touched[where] = True
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(a - b)
            allowed = self.tolerance * np.maximum(1.0, np.abs(a))
        endless = ~np.isfinite(apart)
        apart[endless] = ENDLESS
        self.largest = max(self.largest, float(apart.max()))
        self.same &= bool(self.tolerance and not endless.any() and (apart <= allowed).all())
