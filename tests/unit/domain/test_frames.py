from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain.errors import UsageError
from farm.domain.frames import FIRST_FRAME, LAST_FRAME, MOST_RUNS, FrameRange


@st.composite
def parts(draw: st.DrawFn) -> tuple[str, set[int]]:
    first = draw(st.integers(-60, 60))
    last = draw(st.integers(first, first + 40))
    step = draw(st.integers(1, 9))
    text = str(first) if first == last else f"{first}-{last}" + (f"x{step}" if step > 1 else "")
    return text, set(range(first, last + 1, step))


several = st.lists(parts(), min_size=1, max_size=6)


@given(several, several)
def test_what_one_range_lacks_of_another_is_found(
    here: list[tuple[str, set[int]]], wanted: list[tuple[str, set[int]]]
) -> None:
    frames, others = (FrameRange.parse(",".join(text for text, _ in some)) for some in (here, wanted))
    assert frames.lacking(others) == min(set(others) - set(frames), default=None)
    assert frames.lacking(frames) is None


@given(several)
def test_a_range_is_the_sorted_union_of_its_parts(given_parts: list[tuple[str, set[int]]]) -> None:
    frames = FrameRange.parse(",".join(text for text, _ in given_parts))
    wanted = sorted(set().union(*(part for _, part in given_parts)))

    assert list(frames) == wanted
    assert len(frames) == len(wanted)
    assert [frames[i] for i in range(len(frames))] == wanted
    assert [frames[i] for i in range(-len(frames), 0)] == wanted
    assert frames[::2] == wanted[::2]
    assert all((frame in frames) == (frame in wanted) for frame in range(-70, 110))


@given(several)
def test_a_range_reads_what_it_writes(given_parts: list[tuple[str, set[int]]]) -> None:
    frames = FrameRange.parse(",".join(text for text, _ in given_parts))

    again = FrameRange.parse(str(frames))

    assert again == frames
    assert str(again) == str(frames)


@pytest.mark.parametrize(
    ("text", "written", "frames"),
    [
        ("7", "7", [7]),
        ("1-3", "1-3", [1, 2, 3]),
        ("1-10x2,15", "1-9x2,15", [1, 3, 5, 7, 9, 15]),
        ("15,1-3", "1-3,15", [1, 2, 3, 15]),
        (" 1 , 2 ", "1,2", [1, 2]),
        ("-3--1", "-3--1", [-3, -2, -1]),
        ("-1-1", "-1-1", [-1, 0, 1]),
        ("1-4,3-6", "1-6", [1, 2, 3, 4, 5, 6]),
        ("5,5,5", "5", [5]),
        ("1-5x2,2-6x2", "1-6", [1, 2, 3, 4, 5, 6]),
        ("1-9x4,1-9x2", "1-9x2", [1, 3, 5, 7, 9]),
        ("1-2x5", "1", [1]),
    ],
)
def test_ranges_by_hand(text: str, written: str, frames: list[int]) -> None:
    assert str(FrameRange.parse(text)) == written
    assert list(FrameRange.parse(text)) == frames


@pytest.mark.parametrize(
    "text",
    ["", " ", "1 10", "a", "1-", "-", "1-2-3", "1..5", "1-10x", "1x2", "1,", ",1", "1.5", "٣", "9" * 5000],
)
def test_what_is_no_range_is_told_with_a_cure(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        FrameRange.parse(text)

    assert caught.value.what == f"“{text}” is not a frame range."
    assert "1-10x2 (every second)" in caught.value.cure


@pytest.mark.parametrize(
    ("text", "what", "cure"),
    [
        ("5-1", "Frame range “5-1” runs backwards.", "Write 1-5."),
        ("1-3,9-7x2", "Frame range “9-7x2” runs backwards.", "Write 7-9."),
        (
            "0-2000000",
            "Frame range “0-2000000” is outside of what Blender knows.",
            "Blender's frames run from -1048574 to 1048574.",
        ),
        (
            "-1048575",
            "Frame range “-1048575” is outside of what Blender knows.",
            "Blender's frames run from -1048574 to 1048574.",
        ),
    ],
)
def test_a_range_that_cannot_be_is_told_with_its_cure(text: str, what: str, cure: str) -> None:
    with pytest.raises(UsageError) as caught:
        FrameRange.parse(text)

    assert (caught.value.what, caught.value.cure) == (what, cure)


def test_a_step_of_nothing_is_told() -> None:
    with pytest.raises(UsageError, match=r"^Frame range “1-10x0” has a step of 0\.$"):
        FrameRange.parse("1-10x0")


def test_all_of_blenders_frames_are_no_burden() -> None:
    frames = FrameRange.parse(f"{FIRST_FRAME}-{LAST_FRAME}")

    assert len(frames) == 2_097_149
    assert frames[0] == FIRST_FRAME
    assert frames[-1] == LAST_FRAME
    assert frames[1_048_574] == 0


def test_many_long_ranges_over_each_other_become_one() -> None:
    text = ",".join(f"{first}-{LAST_FRAME - first}" for first in range(50))

    assert str(FrameRange.parse(text)) == f"0-{LAST_FRAME}"


def test_ranges_that_interleave_without_end_are_refused() -> None:
    with pytest.raises(UsageError, match=f"interleave to more than {MOST_RUNS} runs"):
        FrameRange.parse("0-1000000x2,0-1000000x5")


@pytest.mark.parametrize("index", [3, -4, 100])
def test_an_index_outside_is_an_index_error(index: int) -> None:
    with pytest.raises(IndexError):
        FrameRange.parse("1-2,9")[index]


def test_a_range_of_a_scene_is_the_same_as_the_written_one() -> None:
    assert FrameRange.of(1, 10, 3) == FrameRange.parse("1-10x3")
    assert FrameRange.of(4, 4) == FrameRange.parse("4")


@pytest.mark.parametrize(
    ("first", "last", "step"), [(5, 1, 1), (1, 5, 0), (1, 5, -1), (0, LAST_FRAME + 1, 1)]
)
def test_a_range_of_a_scene_is_checked_too(first: int, last: int, step: int) -> None:
    with pytest.raises(UsageError):
        FrameRange.of(first, last, step)


@pytest.mark.parametrize(
    ("frames", "written"),
    [([], ""), ([7], "7"), ([3, 1, 2, 3], "1-3"), ([1, 2, 5, 9, 13], "1-2,5-13x4"), ([-2, -1, 0], "-2-0")],
)
def test_loose_frames_are_written_as_runs(frames: list[int], written: str) -> None:
    found = FrameRange.only(frames)
    assert str(found) == written
    assert list(found) == sorted(set(frames))
