from __future__ import annotations

from pathlib import Path

import pytest

from farm.domain.errors import Unavailable
from workers.home import WorkerHome


def test_a_worker_starts_empty_where_its_predecessor_died(tmp_path: Path) -> None:
    first = WorkerHome(tmp_path, "w1")
    (first.folder / "sessions").mkdir()
    (first.driver_cache / "kernel").write_bytes(b"k")
    first._lock.close()  # as a death does
    second = WorkerHome(tmp_path, "w1")
    assert list(second.folder.iterdir()) == []
    assert (second.driver_cache / "kernel").exists()
    second.close()
    assert list((tmp_path / "workers").iterdir()) == []


def test_files_of_dead_workers_go_and_those_of_live_ones_stay(tmp_path: Path) -> None:
    dead, live = WorkerHome(tmp_path, "host-1.dead"), WorkerHome(tmp_path, "host-1.live")
    for home in (dead, live):
        (home.folder / "sessions").mkdir()
    dead._lock.close()
    third = WorkerHome(tmp_path, "third")
    assert not dead.folder.exists()
    assert (live.folder / "sessions").exists()
    third.close()
    live.close()


def test_a_name_is_taken_while_its_worker_lives_and_free_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.home.PATIENCE", 0.0)
    first = WorkerHome(tmp_path, "w1")
    with pytest.raises(Unavailable, match="already called “w1”"):
        WorkerHome(tmp_path, "w1")
    first.close()
    WorkerHome(tmp_path, "w1").close()


def test_a_scratch_that_cannot_be_written_to_is_told_with_a_cure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be written to") as caught:
        WorkerHome(tmp_path / "file" / "scratch", "w1")
    assert "FARM_SCRATCH" in caught.value.cure
