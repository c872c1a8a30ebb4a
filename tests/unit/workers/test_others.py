from __future__ import annotations

import os
import subprocess
import sys

import psutil

from workers.others import Quiet, used_by_others


class Machine:
    """Processes and their CPU seconds, and a clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used: dict[tuple[int, float], float] = {(1, 0.0): 5.0}

    def quiet(self, cores: float) -> Quiet:
        return Quiet(cores, lambda: dict(self.used), lambda: self.now)


def test_programs_that_compute_break_the_quiet() -> None:
    machine = Machine()
    quiet = machine.quiet(1.5)
    machine.now = 10
    assert quiet.seconds() == 10
    machine.now, machine.used[1, 0.0] = 20, 5.0 + 15
    assert quiet.seconds() == 0
    machine.now, machine.used[1, 0.0] = 30, 20.0 + 14
    assert quiet.seconds() == 10
    machine.now = 35
    assert quiet.seconds() == 10, "a reading is of ten seconds"


def test_a_program_that_was_there_before_only_counts_what_it_did_since() -> None:
    machine = Machine()
    quiet = machine.quiet(0.5)
    machine.now, machine.used[2, 9.0] = 10, 500.0
    assert quiet.seconds() == 10
    machine.now, machine.used[2, 9.0] = 20, 506.0
    assert quiet.seconds() == 0


def test_what_the_farm_itself_does_is_not_others() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        seen = {pid for pid, _ in used_by_others()}
        assert not seen & {os.getpid(), child.pid}
        parent = psutil.Process().ppid()
        assert parent == 0 or parent in seen
    finally:
        child.kill()
        child.communicate()
