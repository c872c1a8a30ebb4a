from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.frames import count
from addon.trouble import Trouble
from farm.domain.frames import FrameRange


@pytest.mark.parametrize(
    ("text", "frames"), [("7", 1), ("1-10", 10), ("1-10x2, 15", 6), ("-3--1", 3), ("1-5,4-6", 6)]
)
def test_frames_are_counted_once(text: str, frames: int) -> None:
    assert count(text) == frames


@pytest.mark.parametrize("text", ["", "a", "5-1", "1-2x0", "1,,2", "9999999", "٣"])
def test_what_is_no_range_is_told(text: str) -> None:
    with pytest.raises(Trouble) as told:
        count(text)
    assert told.value.cure


PART = st.tuples(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 5)).map(
    lambda part: f"{part[0]}-{part[0] + part[1]}x{part[2]}"
)


@given(st.lists(PART, min_size=1, max_size=4).map(",".join))
def test_the_farm_counts_the_same(text: str) -> None:
    assert count(text) == len(FrameRange.parse(text))
