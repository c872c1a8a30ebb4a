"""What a proof counts: pixels and the largest difference, bit for bit where nothing may differ."""

from __future__ import annotations

import numpy as np
import pytest

from workers.differences import ENDLESS, Differences


def compared(ours: list[float], theirs: list[float], tolerance: float = 0.0) -> Differences:
    found = Differences((1, len(ours)), tolerance)
    found.add(np.array([ours], np.float32), np.array([theirs], np.float32))
    return found


def test_equal_values_differ_in_nothing() -> None:
    found = compared([1.0, 0.0, 1e10], [1.0, 0.0, 1e10])
    assert (found.same, found.pixels, found.differing, found.largest, found.note) == (True, 3, 0, 0.0, "")


def test_the_last_bit_of_a_value_is_a_difference() -> None:
    found = compared([1.0, 2.0], [1.0, float(np.nextafter(np.float32(2), np.float32(3)))])
    assert (found.same, found.differing, found.largest) == (False, 1, pytest.approx(2.4e-7, rel=0.01))


def test_a_pixel_that_differs_in_several_channels_counts_once() -> None:
    found = Differences((2, 2))
    ours = np.zeros((2, 2), np.float32)
    theirs = ours.copy()
    theirs[1, 0] = 0.25
    found.add(ours, theirs)
    theirs[0, 0] = -3
    found.add(ours, theirs)
    assert (found.differing, found.largest) == (2, 3.0)


def test_what_is_no_number_equals_every_other_that_is_none() -> None:
    other = float(np.array([0x7FC00001], np.uint32).view(np.float32)[0])
    assert compared([float("nan")], [other]).same
    assert compared([float("inf"), -float("inf")], [float("inf"), -float("inf")]).same


@pytest.mark.parametrize(
    ("ours", "theirs"), [("nan", "1"), ("1", "nan"), ("inf", "1"), ("inf", "-inf"), ("nan", "inf")]
)
@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_a_number_on_one_side_only_is_a_difference_without_end(
    ours: str, theirs: str, tolerance: float
) -> None:
    found = compared([float(ours)], [float(theirs)], tolerance)
    assert (found.same, found.differing, found.largest) == (False, 1, ENDLESS)
    assert found.note == "a value is infinite, or not a number, on one side only"


def test_the_sign_of_zero_counts_where_every_bit_does() -> None:
    found = compared([0.0], [-0.0])
    assert (found.same, found.differing, found.largest) == (False, 1, 0.0)
    assert found.note == "only the signs of zeros differ"
    assert compared([0.0], [-0.0], 1e-6).same


def test_the_tolerance_is_relative_above_one_and_absolute_below() -> None:
    assert compared([1000.0], [1000.5], 1e-3).same
    assert compared([1000.0], [1000.5], 1e-3).note == "within 0.001"
    assert not compared([1000.0], [1002.0], 1e-3).same
    assert compared([0.0], [0.0009], 1e-3).same
    assert not compared([0.0], [0.0011], 1e-3).same
    found = compared([0.0, 5.0], [0.0009, 6.0], 1e-3)
    assert (found.same, found.differing, found.largest, found.note) == (False, 2, 1.0, "")


def test_whole_numbers_are_compared_too() -> None:
    found = Differences((1, 2))
    found.add(np.array([[1, 2**32 - 1]], np.uint32), np.array([[1, 0]], np.uint32))
    assert (found.differing, found.largest) == (1, float(2**32 - 1))
