from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos import figures
from tests.chaos.kinds import KINDS
from tests.chaos.ledger import Done, Entry, Ledger
from tests.chaos.run import drawn

WELL = Entry(
    7,
    ("lens 1-4 2x2", "turntable 1-8 none"),
    (
        Done("kill dispatcher", 1.5, 0.0, "process 12", met=2.5, dispatched=3.25, committed=4.0),
        Done("cut network", 2.0, 8.0, "the cable to storage", dispatched=0.5, committed=9.5),
        Done("kill imaging", 2.0, 8.0, None),
    ),
    frames=12,
    seconds=30.0,
)
KILLED_AGAIN = Done("kill dispatcher", 1.5, 0.0, "process 12", met=15.5, dispatched=16.0)
NOT_WELL = replace(WELL, seed=8, faults=(KILLED_AGAIN,), wrong=("frame 3 has no “x.png”",))
LEFT = Entry(None, wrong=("process 9 is left: raylet",))


def test_a_seed_decides_everything() -> None:
    assert drawn(5, 3) == drawn(5, 3)
    assert len({drawn(seed, 3) for seed in range(50)}) == 50


@pytest.mark.parametrize("seed", range(20))
def test_what_is_drawn_is_of_the_kinds_asked_for_and_cuts_a_frame(seed: int) -> None:
    plan = drawn(seed, 4, ["kill web", "cut network"], 2)
    assert {fault.kind for fault in plan.faults} <= {"kill web", "cut network"}
    for fault in plan.faults:
        low, high = KINDS[fault.kind].seconds
        assert low <= fault.seconds <= high
    assert len(plan.errands) == 2
    assert any(errand.settings.grid for errand in plan.errands)


def test_a_ledger_gives_back_what_was_written_and_forgets_a_line_that_was_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.jsonl"
    ledger = Ledger(path)
    assert list(ledger) == []
    for entry in (WELL, LEFT, NOT_WELL):
        ledger.add(entry)
    assert list(ledger) == [WELL, LEFT, NOT_WELL]
    assert ledger.seeds() == {7, 8}
    path.write_text(path.read_text()[:-20])
    assert ledger.seeds() == {7}


def test_figures_tell_what_was_hit_and_how_long_it_took() -> None:
    assert figures.summary([WELL, NOT_WELL, LEFT]) == (
        "2 runs, 1 minutes: 3 faults in 4 jobs; 24 files of frames fetched and compared; 2 runs with "
        "anything wrong. 1 more faults found nothing to hit. After a dispatcher was killed, the next one "
        "had met a worker after 9.0 … 15.5 s (median … longest), 1 of 2 within 15 s, and the next task was "
        "given after 9.6 … 16.0 s, whatever else was done meanwhile."
    )
    assert figures.table([WELL, NOT_WELL, LEFT]).splitlines()[2:] == [
        "| cut network | 1 | 8.0 … 8.0 | 0.5 … 0.5 | 9.5 … 9.5 | 0 |",
        "| kill dispatcher | 2 | 0.0 … 0.0 | 9.6 … 16.0 | 4.0 … 4.0 | 1 |",
    ]
    page = "# Page\n\n<!-- figures -->\nold\n<!-- end of figures -->\nmore\n"
    assert figures.placed(page, "new") == (
        "# Page\n\n<!-- figures -->\n\nnew\n\n<!-- end of figures -->\nmore\n"
    )
    assert figures.faults([WELL, NOT_WELL, LEFT]).splitlines() == [
        "seed 8: frame 3 has no “x.png”",
        "in the end: process 9 is left: raylet",
    ]
