"""Databases of other versions: an older one is brought up to date, a newer one refused with words."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect

from farm.domain.errors import Unavailable
from farm.domain.job import LOCAL_OWNER, JobSpec
from farm.domain.states import JobState, TaskState
from farm.domain.work import Proof, Row
from farm.store import Database, frames, head, jobs, outputs, proofs, scenes, upgrade, work
from tests.unit.dispatch.play import AVX2, MANIFEST

OLD = Path(__file__).with_name("schema_1.sql")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database file that the first version left, with a job that is half rendered."""
    file = tmp_path / "farm.sqlite3"
    connection = sqlite3.connect(file)
    connection.executescript(OLD.read_text())
    connection.close()
    return file


def layout(c: Connection) -> dict[str, set[tuple[str, bool]]]:
    """Columns by table, and whether each may be empty."""
    found = inspect(c)
    return {
        table: {(column["name"], column["nullable"]) for column in found.get_columns(table)}
        for table in found.get_table_names()
    }


def test_a_file_of_the_first_version_keeps_its_jobs_and_takes_new_ones(old: Path) -> None:
    store = Database(f"sqlite:///{old}")
    with store.write() as c:
        job = jobs.get(c, "j1")
        assert job is not None
        assert (job.state, job.proves, job.adds_to) == (JobState.RENDERING, None, None)
        assert job.plan is not None
        assert (job.plan.grid, job.plan.ranges, job.plan.videos) == ("2x1", (), ())
        assert [(row.key.tile, row.renders) for row in work.tasks_of_frame(c, "j1", 7)] == [(0, 0), (1, 0)]
        assert frames.of_job(c, "j1", [7])[7].state is TaskState.RUNNING
        assert [row.file.name for row in outputs.of_frames(c, "j1", [7])[7]] == [".tessera/piece.exr"]
        assert head.take(c, 9.0) == 4
        spec = JobSpec(name="Proof", scene_id=MANIFEST.scene_id, proves="j1")
        jobs.add(c, "j2", LOCAL_OWNER, spec, 9.0)
        row = Row(kind="pass", name="ViewLayer.Combined", same=True, differing=0)
        proofs.put(c, "j1", "j2", Proof(frame=7, render_class=AVX2, rows=(row,)), 10.0)
        assert proofs.counts(c, ["j1"]) == {"j1": (1, 0)}
        assert jobs.by_id(c, ["j2"])[0].proves == "j1"
    store.close()


def test_a_file_of_the_first_version_ends_with_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    upgraded, new = Database(f"sqlite:///{old}"), Database(f"sqlite:///{tmp_path / 'new.sqlite3'}")
    with upgraded.read() as c, new.read() as other:
        assert layout(c) == layout(other)
    upgraded.close()
    new.close()


def test_it_is_done_once_however_often_the_database_is_opened(old: Path) -> None:
    for _ in range(3):
        store = Database(f"sqlite:///{old}")
        with store.read() as c:
            [row] = c.exec_driver_sql("SELECT id, number FROM version").all()
        assert tuple(row) == (1, upgrade.VERSION)
        store.close()


def test_an_upgrade_works_on_each_kind_of_database(empty: str) -> None:
    store = Database(empty)
    with store.write() as c:
        jobs.add_user(c, LOCAL_OWNER, 1.0)
        jobs.add(c, "j1", LOCAL_OWNER, JobSpec(name="One", scene_id=scenes.add_scene(c, MANIFEST, 1.0)), 2.0)
        new = layout(c)
        for statement in (
            "DROP TABLE version",
            "DROP TABLE proofs",
            "ALTER TABLE jobs DROP COLUMN proves",
            "ALTER TABLE jobs DROP COLUMN adds_to",
            "ALTER TABLE tasks DROP COLUMN renders",
            "DROP TABLE set_aside",
            "ALTER TABLE users DROP COLUMN workers",
            "ALTER TABLE jobs DROP COLUMN control",
            "ALTER TABLE jobs DROP COLUMN costs",
            "ALTER TABLE jobs DROP COLUMN waits",
            "ALTER TABLE frames DROP COLUMN recuts",
            "ALTER TABLE frames DROP COLUMN device",
            "ALTER TABLE intents DROP COLUMN data",
            "ALTER TABLE head DROP COLUMN host",
            "ALTER TABLE head DROP COLUMN pid",
        ):
            c.exec_driver_sql(statement)
    store.close()
    again = Database(empty)
    with again.read() as c:
        assert layout(c) == new
        assert [row.name for row in jobs.listed(c, 10)] == ["One"]
    again.close()


def test_a_database_of_a_newer_version_is_refused_with_words_and_left_alone(empty: str) -> None:
    store = Database(empty)
    with store.write() as c:
        c.exec_driver_sql("UPDATE version SET number = 9")
    with pytest.raises(Unavailable, match="its tables are of version 9, this one knows 3") as caught:
        Database(empty)
    assert caught.value.cure.startswith("Install that Tessera again")
    with store.read() as c:
        assert c.exec_driver_sql("SELECT number FROM version").scalar_one() == 9
    store.close()
