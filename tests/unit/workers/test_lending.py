from __future__ import annotations

from datetime import datetime

import pytest

from farm.domain.errors import UsageError
from workers.hours import Hours
from workers.lending import Away, Lending, seconds

NOON, NIGHT = datetime(2026, 12, 1, 12), datetime(2026, 12, 1, 23)
NIGHTS = Hours.parse("19:00-08:00")


def test_a_machine_of_which_nothing_is_said_is_always_lent() -> None:
    assert Lending().always
    assert Lending().away(NOON, None) is None


def test_outside_of_its_hours_it_is_its_owners() -> None:
    lending = Lending(hours=NIGHTS)
    assert lending.away(NIGHT, None) is None
    assert lending.away(NOON, None) == Away("its owner lends it 19:00-08:00")


def test_what_runs_may_be_finished_when_only_the_hours_end() -> None:
    lending = Lending(hours=NIGHTS, idle=600, finish=True)
    assert lending.away(NOON, 9999) == Away("its owner lends it 19:00-08:00", at_once=False)
    back = lending.away(NOON, 3)
    assert back is not None
    assert back.at_once


def test_it_is_lent_once_its_owner_is_away_for_long_enough() -> None:
    lending = Lending(idle=600)
    assert lending.away(NOON, 600) is None
    assert lending.away(NOON, 599) == Away("its owner is at it; lent after 10 min without them")
    assert lending.away(NOON, 0) is not None


def test_where_nobody_can_tell_whether_its_owner_is_there_it_is_not_lent() -> None:
    away = Lending(idle=90).away(NIGHT, None)
    assert away is not None
    assert away.why.startswith("whether its owner is at it cannot be told")


@pytest.mark.parametrize(
    ("text", "number"), [("10m", 600), ("90", 90), ("90 s", 90), ("1.5h", 5400), ("2min", 120)]
)
def test_durations(text: str, number: float) -> None:
    assert seconds(text, "FARM_LEND_IDLE") == number


@pytest.mark.parametrize("text", ["0", "0m", "-3", "soon", "10d"])
def test_what_is_no_duration_names_the_setting(text: str) -> None:
    with pytest.raises(UsageError, match=f"FARM_LEND_IDLE is “{text}”") as caught:
        seconds(text, "FARM_LEND_IDLE")
    assert "FARM_LEND_IDLE=10m" in caught.value.cure


def test_how_busy_other_programs_may_be_needs_for_how_long() -> None:
    with pytest.raises(UsageError, match="FARM_LEND_BUSY"):
        Lending(busy=1.0)
