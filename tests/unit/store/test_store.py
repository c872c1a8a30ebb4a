from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError

from farm.dispatch.recovery import load_state
from farm.domain.errors import Unavailable
from farm.domain.events import EventKind
from farm.domain.job import LOCAL_OWNER, JobSpec, RenderSettings
from farm.domain.scene import Blob, SceneManifest
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Role
from farm.store import Database, events, frames, head, jobs, outputs, scenes, work, workers
from farm.store.batch import Batch
from farm.store.events import IntentKind
from tests.unit.dispatch.play import AVX2, MANIFEST, stored, worker

TILE = TaskKey("j1", TaskKind.TILE, 7, 0)


@pytest.fixture
def job(store: Database) -> str:
    with store.write() as c:
        jobs.add_user(c, LOCAL_OWNER, 1.0)
        scene_id = scenes.add_scene(c, MANIFEST, 1.0)
        jobs.add(c, "j1", LOCAL_OWNER, JobSpec(name="One", scene_id=scene_id), 2.0)
    return "j1"


def test_a_job_comes_back_as_it_was_submitted(store: Database, job: str) -> None:
    with store.read() as c:
        row = jobs.get(c, job)
    assert row is not None
    assert (row.name, row.owner, row.state, row.created) == ("One", "local", JobState.WAITING, 2.0)
    assert row.settings == RenderSettings()
    assert (row.plan, row.report, row.opened) == (None, None, 0)


def test_a_transaction_that_fails_leaves_nothing(store: Database, job: str) -> None:
    with pytest.raises(RuntimeError), store.write() as c:
        jobs.change(c, job, state=JobState.DONE.value)
        raise RuntimeError
    with store.read() as c:
        assert jobs.listed(c, 10)[0].state is JobState.WAITING


def test_jobs_are_listed_newest_first_and_page_by_page(store: Database, job: str) -> None:
    with store.write() as c:
        for number in range(2, 7):
            spec = JobSpec(name=f"{number}", scene_id=MANIFEST.scene_id)
            jobs.add(c, f"j{number}", LOCAL_OWNER, spec, 2.0)  # all of the same second
    with store.read() as c:
        first = jobs.listed(c, 4)
        second = jobs.listed(c, 4, before=first[-1])
    assert [row.id for row in first + second] == ["j6", "j5", "j4", "j3", "j2", "j1"]


def test_only_the_newest_epoch_may_write(store: Database) -> None:
    with store.write() as c:
        old = head.take(c, 1.0)
    with store.write() as c:
        new = head.take(c, 2.0)
        head.check(c, new)
    assert new == old + 1
    with pytest.raises(head.Fenced), store.write() as c:
        head.check(c, old)


def test_event_numbers_only_grow_even_after_the_newest_was_deleted(store: Database, job: str) -> None:
    with store.write() as c:
        events.append(c, 1.0, EventKind.JOB_STATE, job, {"state": "waiting"})
        events.append(c, 2.0, EventKind.ATTEMPT_PROGRESS, job, {"sample": 3})
    with store.write() as c:
        newest = events.latest(c)
        events.forget_passing(c, before=3.0)
        events.append(c, 4.0, EventKind.JOB_STATE, None, {"ä": "ö"})
        left = events.after(c, 0, None, 10)
        of_job = events.after(c, 0, job, 10)
    assert left[-1].sequence > newest
    assert [event.kind for event in left] == ["job.state", "job.state"]
    assert left[-1].data == {"ä": "ö"}
    assert [event.job_id for event in of_job] == [job]


def test_an_intent_waits_until_it_is_taken_up(store: Database, job: str) -> None:
    with store.write() as c:
        events.leave_intent(c, 1.0, job, IntentKind.CANCEL)
    with store.write() as c:
        waiting = events.waiting_intents(c, job)
        assert [(intent.job_id, intent.kind) for intent in waiting] == [(job, IntentKind.CANCEL)]
        events.take_up(c, waiting)
        assert events.waiting_intents(c) == []


def test_a_blob_that_arrives_twice_is_one(store: Database) -> None:
    blob = Blob(sha256="a" * 64, bytes=5)
    with store.write() as c:
        scenes.add_blob(c, blob, 1.0)
        scenes.add_blob(c, blob, 2.0)
        many = [f"{number:064x}" for number in range(2000)]
        assert scenes.known_blobs(c, [*many, blob.sha256]) == {blob.sha256: 5}


def test_the_same_files_are_the_same_scene(store: Database) -> None:
    other = SceneManifest(main="b.blend", files={"b.blend": Blob(sha256="0" * 64, bytes=1)})
    with store.write() as c:
        first = scenes.add_scene(c, MANIFEST, 1.0)
        assert scenes.add_scene(c, MANIFEST, 2.0) == first
        assert scenes.add_scene(c, other, 3.0) != first
        assert scenes.manifest_of(c, first) == MANIFEST
        assert scenes.manifest_of(c, "0" * 64) is None


def test_pieces_are_dropped_with_their_previews_and_logs_stay(store: Database, job: str) -> None:
    whole = TaskKey(job, TaskKind.FINISH, 7)
    with store.write() as c:
        for role in (Role.PIECE, Role.PREVIEW, Role.LOG):
            outputs.add(c, TILE, "a1", stored(role, role.value), AVX2)
        preview = outputs.add(c, whole, "a2", stored(Role.PREVIEW, "final"))
        assert sorted(outputs.drop_pieces(c, job, 7)) == ["key/piece", "key/preview"]
        left = outputs.of_frames(c, job, [7])[7]
        assert [row.file.name for row in left] == ["log", "final"]
        assert outputs.latest_previews(c, [job]) == {job: preview}
        assert outputs.logs(c, ["a1"]) == {"a1": left[0].id}


def test_some_pieces_of_a_frame_can_be_dropped_and_the_others_stay(store: Database, job: str) -> None:
    with store.write() as c:
        for tile in range(3):
            key = TaskKey(job, TaskKind.TILE, 7, tile)
            work.open_task(c, key)
            work.start_attempt(c, f"a{tile}", key, "w1", 5.0)
            work.change_attempt(c, f"a{tile}", state=AttemptState.DONE.value)
            for role in (Role.PIECE, Role.PREVIEW, Role.LOG):
                outputs.add(c, key, f"a{tile}", stored(role, f"{role}-{tile}"), AVX2)
        assert sorted(outputs.drop_pieces(c, job, 7, [0, 2])) == [
            "key/piece-0",
            "key/piece-2",
            "key/preview-0",
            "key/preview-2",
        ]
        work.drop_results(c, job, 7, [0, 2])
        left = {row.file.name for row in outputs.of_frames(c, job, [7])[7]}
        states = {row.id: row.state for row in work.attempts_of_job(c, job)}
    assert left == {"piece-1", "preview-1", "log-0", "log-1", "log-2"}
    assert states == {"a0": "dropped", "a1": "done", "a2": "dropped"}


def test_pictures_of_whole_frames_come_by_frame_and_movies_by_job(store: Database, job: str) -> None:
    with store.write() as c:
        for frame in (9, 7):
            whole = TaskKey(job, TaskKind.FINISH, frame)
            outputs.add(c, whole, "a1", stored(Role.OUTPUT, f"b{frame}.png"))
            outputs.add(c, whole, "a1", stored(Role.OUTPUT, f"a{frame}.png"))
            outputs.add(c, whole, "a1", stored(Role.PREVIEW, f"p{frame}.jpg"))
        outputs.add(c, TILE, "a2", stored(Role.PREVIEW, "tile.jpg"))
        movie = outputs.add(c, TaskKey(job, TaskKind.ENCODE), "a3", stored(Role.VIDEO, "shot.mkv"))
        pictures = outputs.of_whole_frames(c, job, [Role.OUTPUT])
        assert [row.file.name for row in pictures] == ["b7.png", "a7.png", "b9.png", "a9.png"]
        both = outputs.of_whole_frames(c, job, [Role.OUTPUT, Role.PREVIEW])
        assert [row.file.name for row in both][2::3] == ["p7.jpg", "p9.jpg"]
        assert [(row.id, row.frame) for row in outputs.movies(c, [job, "other"])[job]] == [(movie, None)]
        assert outputs.movies(c, ["other"]) == {"other": []}


def test_a_piece_comes_back_with_its_render_class(store: Database, job: str) -> None:
    with store.write() as c:
        number = outputs.add(c, TILE, "a1", stored(Role.PIECE, "x.exr"), AVX2)
        row = outputs.get(c, number)
    assert row is not None
    assert (row.tile, row.frame, row.render_class) == (0, 7, AVX2)
    assert row.file == stored(Role.PIECE, "x.exr")


def test_frames_are_counted_by_state(store: Database, job: str) -> None:
    with store.write() as c:
        for number in (1, 2, 3):
            frames.open_frame(c, job, number)
        frames.change(c, job, 2, state=TaskState.DONE.value, seconds=1.5)
        assert frames.counts(c, {job: 3, "other": 0}) == {
            job: {TaskState.WAITING: 2, TaskState.DONE: 1},
            "other": {},
        }
        assert frames.of_job(c, job, [2, 9])[2].seconds == 1.5


def test_tasks_that_ended_are_not_open(store: Database, job: str) -> None:
    with store.write() as c:
        work.open_task(c, TILE)
        work.start_attempt(c, "a1", TILE, "w1", 5.0)
        assert [row.key for row in work.open_tasks(c, job)] == [TILE]
        work.change_task(c, TILE, state=TaskState.DONE.value)
        assert work.open_tasks(c, job) == []
        assert work.attempts_by_id(c, ["a1"])[0].started == 5.0


def test_a_worker_is_one_row_however_often_it_is_written(store: Database) -> None:
    with store.write() as c:
        workers.put(c, worker("w1"), "idle", None, 1.0)
        workers.put(c, worker("w1"), "busy", "a1", 2.0)
        assert [(row.state, row.attempt_id) for row in workers.listed(c)] == [("busy", "a1")]
        workers.drop(c, "w1")
        assert workers.listed(c) == []


def test_two_writers_at_once_wait_for_each_other(store: Database, job: str) -> None:
    def add() -> None:
        for _ in range(20):
            with store.write() as c:
                events.append(c, 1.0, EventKind.JOB_STATE, job, {})

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as c:
        assert len(events.after(c, 0, job, 1000)) == 80


def test_a_database_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot be used"):
        Database(f"sqlite:///{tmp_path / 'file' / 'farm.sqlite3'}")


def test_a_database_server_that_is_away_is_one_sentence_without_its_password() -> None:
    with pytest.raises(Unavailable) as caught:
        Database("postgresql://me:secret@127.0.0.1:1/farm")
    assert "does not answer" in caught.value.what
    assert "secret" not in caught.value.what


def test_what_only_mattered_while_it_happened_is_forgotten(store: Database, job: str) -> None:
    with store.write() as c:
        for kind in EventKind:
            events.append(c, 1.0, kind, job, {})
        events.forget_passing(c, before=2.0)
        left = {event.kind for event in events.after(c, 0, None, 100)}
    assert set(EventKind) - left == {"attempt.progress", "tile.state", "worker.state"}


def test_a_reader_sees_one_moment_however_many_questions_it_asks(store: Database, job: str) -> None:
    with store.read() as reading:
        before = jobs.get(reading, job)
        with store.write() as c:
            jobs.change(c, job, state=JobState.DONE.value)
        assert jobs.get(reading, job) == before
    with store.read() as reading:
        assert jobs.listed(reading, 1)[0].state is JobState.DONE


def test_words_with_a_nul_are_stored_all_the_same(store: Database, job: str) -> None:
    with store.write() as c:
        jobs.change(c, job, error="a\0b", cure="\0")
        row = jobs.get(c, job)
        assert jobs.get(c, "j\0") is None
    assert row is not None
    assert (row.error, row.cure) == ("a\ufffdb", "\ufffd")


def test_what_breaks_a_rule_of_the_tables_is_not_taken_for_a_database_that_is_away(store: Database) -> None:
    with pytest.raises(IntegrityError), store.write() as c:
        work.start_attempt(c, "a1", TILE, "w1", 1.0)


def test_a_database_of_an_older_version_gets_the_indexes_that_are_new(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'farm.sqlite3'}"
    old = Database(url)
    with old.write() as c:
        c.exec_driver_sql("DROP INDEX events_by_kind")
    old.close()
    new = Database(url)
    with new.read() as c:
        assert "events_by_kind" in {index["name"] for index in inspect(c).get_indexes("events")}
    new.close()


def test_results_of_a_frame_that_begins_anew_count_no_more(store: Database, job: str) -> None:
    other = TaskKey(job, TaskKind.TILE, 8, 0)
    with store.write() as c:
        for number, key in enumerate((TILE, other)):
            work.open_task(c, key)
            work.start_attempt(c, f"a{number}", key, "w1", 5.0)
            work.change_attempt(c, f"a{number}", state=AttemptState.DONE.value)
        work.start_attempt(c, "a2", TILE, "w1", 5.0)
        work.drop_results(c, job, 7)
        states = {row.id: row.state for row in work.attempts_of_job(c, job)}
    assert states == {"a0": AttemptState.DROPPED, "a1": AttemptState.DONE, "a2": AttemptState.RUNNING}


def test_processes_that_open_a_new_farm_at_once_do_not_trip_over_each_other(empty: str) -> None:
    def open_it() -> None:
        start.wait(10)
        Database(empty).close()
        opened.append(True)

    start, opened = threading.Barrier(6), []
    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6


def test_a_restarted_head_knows_all_attempts_of_a_job_however_many_workers_it_has(
    store: Database, job: str
) -> None:
    with store.write() as c:
        jobs.change(c, job, state=JobState.RENDERING.value)
        for frame in range(1, 1002):
            key = TaskKey(job, TaskKind.FRAME, frame)
            frames.open_frame(c, job, frame)
            work.open_task(c, key)
            work.change_task(c, key, state=TaskState.RUNNING.value)
            work.start_attempt(c, f"a{frame}", key, f"w{frame}", 3.0)
    with store.read() as c:
        state = load_state(c)
    assert len(state.attempts) == 1001
    assert all(task.attempt is not None for task in state.jobs[job].tasks.values())


def test_the_number_of_a_file_that_is_gone_is_not_given_to_another(store: Database, job: str) -> None:
    numbers: list[int] = []
    for attempt in range(3):
        with store.write() as c:
            batch = Batch(c)
            work.open_task(batch, TILE)
            pieces = [stored(Role.PIECE, f"{n}") for n in range(20)]
            numbers += [outputs.add(batch, TILE, f"a{attempt}", piece) for piece in pieces]
            batch.flush()
        with store.write() as c:
            assert len(outputs.drop_pieces(c, job, 7)) == 20
    assert numbers == sorted(set(numbers))
