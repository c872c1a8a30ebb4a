from __future__ import annotations

import pytest

from farm.domain.work import Cause
from workers.failures import AttemptFailed
from workers.vigil import Patience, Vigil

PATIENCE = Patience(start=100, silence=30, idle=600)


class Clock:
    computed = 0.0

    def __call__(self) -> float:
        return self.computed


def test_a_silent_child_is_hung() -> None:
    vigil = Vigil("Blender", PATIENCE, Clock(), 0, starting=False)
    vigil.heard(10)
    vigil.check(40)
    with pytest.raises(AttemptFailed, match="no sign of life for 31 s") as caught:
        vigil.check(41)
    assert caught.value.cause is Cause.HANG


def test_a_starting_child_may_be_silent_for_longer_but_not_for_ever() -> None:
    vigil = Vigil("Blender", PATIENCE, Clock(), 0, starting=True)
    vigil.check(99)
    vigil.heard(99)
    with pytest.raises(AttemptFailed, match="was not ready after 101 s"):
        vigil.check(101)


def beat(vigil: Vigil, clock: Clock, first: int, last: int, busy: float) -> None:
    """A beat a second, using ``busy`` of a core."""
    for second in range(first, last):
        clock.computed += busy
        vigil.heard(second)
        vigil.check(second)


def test_a_child_that_beats_without_counting_or_computing_is_hung() -> None:
    clock = Clock()
    vigil = Vigil("Blender", PATIENCE, clock, 0, starting=False)
    with pytest.raises(AttemptFailed, match="has done nothing"):
        beat(vigil, clock, 0, 900, busy=0.001)


def test_a_child_that_computes_without_counting_is_not() -> None:
    clock = Clock()
    vigil = Vigil("Blender", PATIENCE, clock, 0, starting=False)
    beat(vigil, clock, 0, 5000, busy=0.5)


def test_a_child_that_counts_is_not() -> None:
    clock = Clock()
    vigil = Vigil("Blender", PATIENCE, clock, 0, starting=False)
    for first in range(0, 5000, 500):
        vigil.counted(first)
        beat(vigil, clock, first, first + 500, busy=0)


def test_a_child_that_computes_for_hours_without_counting_is_hung() -> None:
    clock = Clock()
    vigil = Vigil("Blender", Patience(silence=30, idle=600, spinning=7200), clock, 0, starting=False)
    beat(vigil, clock, 0, 7200, busy=1)
    with pytest.raises(AttemptFailed, match=r"computes but has counted nothing for 2\.0 h") as caught:
        beat(vigil, clock, 7200, 7300, busy=1)
    assert caught.value.cause is Cause.HANG


@pytest.mark.parametrize(
    ("learned", "idle", "spinning"),
    [
        (None, 900, 21600),
        (300, 300, 3600),
        (1.5, 60, 3600),  # never below the floors
        (700, 700, 7000),
        (50_000, 900, 21600),  # never above the worker's own
    ],
)
def test_what_was_learned_of_a_job_shortens_the_patience(
    learned: float | None, idle: float, spinning: float
) -> None:
    found = Patience().learned(learned)
    assert (found.idle, found.spinning) == (idle, spinning)
    assert (found.start, found.silence) == (180, 30)


def test_a_worker_of_less_patience_than_the_floor_keeps_its_own() -> None:
    assert Patience(idle=5, spinning=50).learned(1.0) == Patience(idle=5, spinning=50)
