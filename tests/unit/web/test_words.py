"""Numbers as people say them, and bars."""

from __future__ import annotations

import pytest

from farm.domain.views import FrameCounts
from web.pages import words
from web.pages.bars import segments, told


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.84, "0.8 s"),
        (-1, "0.0 s"),
        (34.4, "34 s"),
        (59.6, "1 min"),
        (130, "2 min 10 s"),
        (3600, "1 h"),
        (11_100, "3 h 5 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("past", "said"),
    [
        (3, "just now"),
        (50, "1 min ago"),
        (3599, "59 min ago"),
        (7300, "2 h ago"),
        (90_000, "1 day ago"),
        (260_000, "3 days ago"),
    ],
)
def test_how_long_ago(past: float, said: str) -> None:
    assert words.ago(1000.0, 1000.0 + past) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(12, "12 B"), (3_400_000, "3.4 MB"), (37_900, "37.9 kB"), (128_000_000_000, "128 GB"), (2e12, "2.0 TB")],
)
def test_sizes(count: float, said: str) -> None:
    assert words.size(count) == said


def test_a_bar_is_full_and_shows_even_one_in_a_million() -> None:
    bar = segments(FrameCounts(total=1_000_000, done=999_998, failed=1, waiting=1))
    assert [part.state for part in bar] == ["done", "failed", "waiting"]
    assert sum(part.width for part in bar) == pytest.approx(1000, abs=0.1)
    assert min(part.width for part in bar) > 7
    assert segments(FrameCounts()) == []


def test_a_bar_in_words() -> None:
    counts = FrameCounts(total=24, done=18, running=2, failed=1, waiting=3)
    assert told(counts) == "18 of 24 frames done, 2 rendering, 1 failed"
    assert told(FrameCounts()) == "not planned yet"
