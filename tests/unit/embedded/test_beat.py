"""Whether a part goes on, by the file that it touches."""

from __future__ import annotations

import os
from pathlib import Path

from farm.embedded.beat import Beat


def test_a_beat_goes_on_while_the_file_is_touched_by_whatever_clock(tmp_path: Path) -> None:
    now = 100.0
    beat = Beat(tmp_path / "beat", patience=10.0, clock=lambda: now)
    assert not beat.begun()

    beat.file.touch()
    assert beat.begun()
    assert beat.goes_on()
    now = 109.0
    assert beat.goes_on()
    os.utime(beat.file, (5.0, 5.0))  # the machine's clock was set back: it was touched all the same
    assert beat.goes_on()
    now = 118.9
    assert beat.goes_on()
    now = 119.0
    assert not beat.goes_on()
    os.utime(beat.file, (6.0, 6.0))
    assert beat.goes_on()
