from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workers.imaging.cryptomatte import merged_slots

SLOTS, PIXELS = 4, 3
ids_of_a_pixel = st.lists(st.integers(1, 6), unique=True, max_size=SLOTS)
a_range = st.tuples(
    st.lists(ids_of_a_pixel, min_size=PIXELS, max_size=PIXELS), st.integers(1, 9), st.integers(0, 1000)
)


def arrays(pixels: list[list[int]], seed: int) -> tuple[Any, Any]:
    """Ids and coverages, sorted by coverage as Cycles leaves them."""
    random = np.random.default_rng(seed)
    ids, coverages = np.zeros((SLOTS, PIXELS), np.uint32), np.zeros((SLOTS, PIXELS), np.float32)
    for at, mine in enumerate(pixels):
        ids[: len(mine), at] = mine
        coverages[: len(mine), at] = np.sort(random.integers(1, 9, len(mine)) / 8)[::-1]
    return ids, coverages


def one_by_one(ranges: list[tuple[Any, Any, int]], at: int, ordered: bool) -> list[tuple[int, float]]:
    """The same, said plainly: slots that are taken in the order of arrival, the last one by all others."""
    slots: list[list[Any]] = []
    met: dict[int, int] = {}
    for ids, coverages, count in ranges:
        for key, coverage in zip(ids[:, at], coverages[:, at], strict=True):
            if not key:
                continue
            met.setdefault(int(key), len(met))
            if met[int(key)] == len(slots) < SLOTS:
                slots.append([int(key), 0.0])
            slots[min(met[int(key)], SLOTS - 1)][1] += float(coverage) * count
    total = sum(count for *_, count in ranges)
    found = [(key, float(np.float32(weight / total))) for key, weight in slots]
    return sorted(found, key=lambda pair: -pair[1]) if ordered else found  # stable


@given(st.lists(a_range, min_size=1, max_size=5), st.booleans())
def test_coverage_is_summed_by_id_as_cycles_fills_its_slots(drawn: list[Any], ordered: bool) -> None:
    ranges = [(*arrays(pixels, seed), count) for pixels, count, seed in drawn]
    read = [list(each) for each in zip(*ranges, strict=True)]

    ids, coverages = merged_slots(read[0], read[1], read[2], ordered=ordered)

    for at in range(PIXELS):
        wanted = one_by_one(ranges, at, ordered)
        found = [(int(key), float(c)) for key, c in zip(ids[:, at], coverages[:, at], strict=True)]
        assert found == wanted + [(0, 0.0)] * (SLOTS - len(wanted))


def test_nothing_anywhere_stays_nothing() -> None:
    empty = np.zeros((SLOTS, PIXELS), np.uint32)

    ids, coverages = merged_slots([empty, empty], [empty.astype(np.float32)] * 2, [1, 2], ordered=True)

    assert not ids.any()
    assert not coverages.any()
    assert (ids.dtype, coverages.dtype) == (np.uint32, np.float32)


def test_ids_are_told_apart_by_their_bits() -> None:
    """As float32 these are two NaNs, and a zero and a negative zero."""
    ids = [np.array([[key]], np.uint32) for key in (0x7FC00001, 0x7FC00002, 0x80000000)]
    ones = [np.ones((1, 1), np.float32)] * 3
    padding = [np.zeros((2, 1), np.uint32)] * 3

    found, coverages = merged_slots(
        [np.concatenate(pair) for pair in zip(ids, padding, strict=True)],
        [np.concatenate([one, np.zeros((2, 1), np.float32)]) for one in ones],
        [3, 2, 1],
        ordered=True,
    )

    assert found.ravel().tolist() == [0x7FC00001, 0x7FC00002, 0x80000000]
    assert coverages.ravel().tolist() == [3 / 6, np.float32(2 / 6), np.float32(1 / 6)]
