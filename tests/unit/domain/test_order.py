"""The order in which frames are begun, and its inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain.frames import FrameRange
from farm.domain.order import begun_as, begun_at
from farm.domain.plan import Plan

ORDERS = st.sampled_from(["turn", "preview", "every:1", "every:2", "every:3", "every:10"])


@given(order=ORDERS, count=st.integers(1, 200), data=st.data())
def test_as_which_number_a_frame_is_begun_is_the_inverse_of_which_frame_is_begun(
    order: str, count: int, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, count - 1))
    assert begun_as(order, begun_at(order, index, count), count) == index


@pytest.mark.parametrize(
    ("order", "numbers"),
    [("turn", [0, 1, 2, 3, 4]), ("preview", [0, 3, 2, 4, 1]), ("every:2", [0, 3, 1, 4, 2])],
)
def test_of_five_frames_each_is_begun_as_the_order_says(order: str, numbers: list[int]) -> None:
    assert [begun_as(order, position, 5) for position in range(5)] == numbers


@pytest.mark.parametrize("position", [-1, 5])
def test_what_is_no_frame_is_begun_as_none(position: int) -> None:
    with pytest.raises(IndexError):
        begun_as("preview", position, 5)


def test_a_plan_of_a_million_frames_knows_as_which_number_each_is_begun() -> None:
    plan = Plan(frames="-600000--100001,1-500000", width=1, height=1, reason="", order="preview")
    assert plan.count == 1_000_000
    for index in (0, 1, 2, 3, 499_999, 500_002, 999_999):
        assert plan.number_of(plan.frame_at(index)) == index
    with pytest.raises(ValueError, match="-50000 is not in"):
        plan.number_of(-50_000)


@given(
    parts=st.lists(
        st.tuples(st.integers(-50, 50), st.integers(0, 30), st.integers(1, 5)), min_size=1, max_size=5
    )
)
def test_the_place_of_a_frame_is_its_index(parts: list[tuple[int, int, int]]) -> None:
    frames = FrameRange.parse(",".join(f"{first}-{first + more}x{step}" for first, more, step in parts))
    assert [frames.place(frame) for frame in frames] == list(range(len(frames)))
