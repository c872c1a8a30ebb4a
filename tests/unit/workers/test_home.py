from __future__ import annotations

from pathlib import Path

import pytest

from farm.domain.errors import Unavailable
from workers.home import WorkerHome


def test_a_worker_starts_empty_but_keeps_what_the_driver_compiled(tmp_path: Path) -> None:
    first = WorkerHome(tmp_path, "w1")
    (first.folder / "sessions").mkdir()
    (first.folder / "driver-cache").mkdir()
    (first.folder / "driver-cache" / "kernel").write_bytes(b"k")
    first._lock.close()  # as a death does
    second = WorkerHome(tmp_path, "w1")
    assert [path.name for path in second.folder.iterdir()] == ["driver-cache"]
    assert (second.folder / "driver-cache" / "kernel").exists()
    second.close()


def test_files_of_dead_workers_go_and_those_of_live_ones_stay(tmp_path: Path) -> None:
    dead, live = WorkerHome(tmp_path, "dead"), WorkerHome(tmp_path, "live")
    for home in (dead, live):
        (home.folder / "sessions").mkdir()
    dead._lock.close()
    third = WorkerHome(tmp_path, "third")
    assert not (dead.folder / "sessions").exists()
    assert (live.folder / "sessions").exists()
    live.close()
    third.close()


def test_a_scratch_that_cannot_be_written_to_is_told_with_a_cure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be written to") as caught:
        WorkerHome(tmp_path / "file" / "scratch", "w1")
    assert "FARM_SCRATCH" in caught.value.cure
