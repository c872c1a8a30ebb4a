"""A short run of chaos, on a real farm with real Blender: ``make chaos`` does the long ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos import ground
from tests.chaos.ledger import Ledger

pytestmark = pytest.mark.timeout(900)

#: One of each sort: killed, stopped, cut off, and short of room; of the parts that cost most to lose.
KINDS = ("kill dispatcher", "kill worker", "kill storage", "stop worker", "cut network", "full scratch")
SEED = 6


@pytest.fixture
def chaos(tmp_path: Path) -> Callable[..., tuple[int, str, Ledger]]:
    """Runs with these options; gives the exit code, what was said, and the ledger."""
    if lacking := ground.lacking():
        pytest.skip(lacking)

    def run(*options: str) -> tuple[int, str, Ledger]:
        ledger = tmp_path / "ledger.jsonl"
        places = ("--ledger", str(ledger), "--evidence", str(tmp_path / "evidence"))
        line = [sys.executable, "-P", "-m", "tests.chaos", *places, *options]
        done = subprocess.run(line, cwd=ground.PROJECT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, Ledger(ledger)

    return run


def test_after_faults_of_each_sort_all_is_as_if_there_had_been_none(
    chaos: Callable[..., tuple[int, str, Ledger]],
) -> None:
    options = ("--seed", str(SEED), "--runs", "2", "--jobs", "2", "--faults", "3", "--kinds", *KINDS)
    code, said, ledger = chaos(*options)
    assert code == 0, said
    runs = list(ledger)
    assert [entry.seed for entry in runs] == [SEED, SEED + 1]
    assert all(entry.wrong == () and entry.frames > 0 for entry in runs)
    hit = [fault.kind for entry in runs for fault in entry.faults if fault.hit is not None]
    assert len(hit) >= 4, said
    assert "kill dispatcher" in hit

    code, said, again = chaos(*options)
    assert code == 0, said
    assert list(again) == runs, "what is in the ledger is not done again"
