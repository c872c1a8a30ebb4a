"""What is asked five times a second, or by every page, is answered from an index: asked of SQLite itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from farm.dispatch import earlier
from farm.dispatch.recovery import load_state
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.states import JobState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Role
from farm.planning import plan_job
from farm.service import attempts, events, frames, jobs, proofs, status
from farm.service.context import Farm
from farm.settings import Settings
from farm.storage import MemoryStorage
from farm.store import Database, outputs, scenes, work
from farm.store import events as event_rows
from farm.store import frames as frame_rows
from farm.store import jobs as job_rows
from tests.unit.dispatch.play import MANIFEST, report

#: Tables that hold rows of all that the farm ever did. `jobs` may be read in the order of an index.
LONG = re.compile(
    r"SCAN (frames|tasks|attempts|outputs|proofs|events|blobs|scenes)|SCAN jobs(?! USING INDEX)"
)


def turn(farm: Farm) -> None:
    with farm.store.write() as connection:
        event_rows.waiting_intents(connection)
        job_rows.ids_in_states(connection, [JobState.WAITING])
        event_rows.forget_passing(connection, 1.0)


def dispatch(farm: Farm) -> None:
    """What a dispatcher asks for besides, and when it is started again."""
    with farm.store.write() as connection:
        state = load_state(connection)
        added = replace(state.jobs["j1"], adds_to="j1")
        earlier.look(connection, added, [3, 4])
        earlier.look(connection, replace(added, adds_to=None, proves="j1"), [3, 4])
        list(outputs.of_whole_frames(connection, "j1", [Role.OUTPUT, Role.PREVIEW]))
        outputs.drop_pieces(connection, "j1", 3, [0])
        work.drop_results(connection, "j1", 3, [0])
        work.drop_results(connection, "j1", 3)


LOOKS: dict[str, Callable[[Farm], object]] = {
    "turn": turn,
    "dispatch": dispatch,
    "pulse": lambda farm: status.pulse(farm, LOCAL_OWNER),
    "jobs": lambda farm: jobs.listed(farm, LOCAL_OWNER, 50),
    "older jobs": lambda farm: jobs.listed(farm, LOCAL_OWNER, 50, "j1"),
    "job": lambda farm: jobs.get(farm, LOCAL_OWNER, "j1"),
    "frames": lambda farm: frames.listed(farm, LOCAL_OWNER, "j1", 0, 200),
    "frame": lambda farm: frames.get(farm, LOCAL_OWNER, "j1", 3),
    "failed attempts": lambda farm: attempts.listed(farm, LOCAL_OWNER, "j1", failed=True),
    "proofs": lambda farm: proofs.listed(farm, LOCAL_OWNER, "j1", 0, 50, worst_first=True),
    "proof of a frame": lambda farm: proofs.of_frame(farm, LOCAL_OWNER, "j1", 3),
    "events": lambda farm: events.after(farm, LOCAL_OWNER, 7, None),
    "events of a job": lambda farm: events.after(farm, LOCAL_OWNER, 7, "j1"),
    "latest event": events.latest,
}


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    store = Database(f"sqlite:///{tmp_path / 'farm.sqlite3'}")
    settings = RenderSettings(tiles="2x1")
    with store.write() as c:
        job_rows.add_user(c, LOCAL_OWNER, 1.0)
        scene_id = scenes.add_scene(c, MANIFEST, 1.0)
        job_rows.add(c, "j1", LOCAL_OWNER, JobSpec(name="One", scene_id=scene_id, settings=settings), 2.0)
        plan = plan_job(settings, report(), 2).model_dump_json()
        job_rows.change(c, "j1", plan=plan, state=JobState.RENDERING.value)
        frame_rows.open_frame(c, "j1", 3)
        work.open_task(c, TaskKey("j1", TaskKind.TILE, 3, 0))
        work.start_attempt(c, "a1", TaskKey("j1", TaskKind.TILE, 3, 0), "w1", 3.0)
    return Farm(store, MemoryStorage(), Settings(home=tmp_path))


@pytest.mark.parametrize("look", LOOKS)
def test_no_table_that_grows_is_read_from_end_to_end(farm: Farm, look: str) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        LOOKS[look](farm)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    queries = [(said, given) for said, given in asked if not said.startswith("BEGIN")]
    assert queries
    with farm.store.read() as connection:
        for said, given in queries:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {said}", given).all()
            assert not [row[3] for row in plan if LONG.match(row[3])], said
    farm.close()
