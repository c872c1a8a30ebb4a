"""The verbs that need no dispatcher; the others are tested with one in tests/integration/dispatch."""

from __future__ import annotations

import threading

import pytest

from farm.domain import keys
from farm.domain.errors import BadInput, Conflict, NotFound
from farm.domain.job import LOCAL_OWNER, JobSpec
from farm.domain.scene import Blob, SceneManifest
from farm.domain.states import JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.views import BlobQuery
from farm.domain.work import Progress, Role, StoredFile
from farm.service import attempts, blobs, events, frames, jobs, outputs, scenes, status
from farm.service.context import Farm
from farm.service.health import HOLDS_SECONDS, Health
from farm.storage import MemoryStorage
from farm.store import frames as frame_rows
from farm.store import head, work, workers
from farm.store import jobs as job_rows
from farm.store import outputs as output_rows
from tests.unit.dispatch.play import worker
from tests.unit.service.conftest import DATA, MANIFEST, SHA, planned


def test_only_blobs_that_the_farm_lacks_are_asked_for(farm: Farm) -> None:
    other = "f" * 64
    assert blobs.missing(farm, LOCAL_OWNER, BlobQuery(sha256=(SHA, other))).sha256 == (SHA, other)
    assert blobs.put(farm, LOCAL_OWNER, SHA, [DATA[:4], DATA[4:]]) == Blob(sha256=SHA, bytes=len(DATA))
    assert blobs.missing(farm, LOCAL_OWNER, BlobQuery(sha256=(SHA, other))).sha256 == (other,)
    assert b"".join(farm.storage.stream(keys.blob(SHA))) == DATA


def test_a_blob_that_arrives_damaged_does_not_count_and_leaves_nothing(farm: Farm) -> None:
    with pytest.raises(BadInput, match="arrived damaged"):
        blobs.put(farm, LOCAL_OWNER, SHA, [b"something else"])
    assert blobs.missing(farm, LOCAL_OWNER, BlobQuery(sha256=(SHA,))).sha256 == (SHA,)
    assert farm.storage.size(keys.blob(SHA)) is None


def test_a_scene_whose_files_are_not_here_is_refused_by_name(farm: Farm) -> None:
    with pytest.raises(BadInput, match=r"“a\.blend” has not been sent"):
        scenes.register(farm, LOCAL_OWNER, MANIFEST)


def test_a_manifest_that_lies_about_a_size_is_refused(farm: Farm) -> None:
    blobs.put(farm, LOCAL_OWNER, SHA, [DATA])
    lying = SceneManifest(main="a.blend", files={"a.blend": Blob(sha256=SHA, bytes=3)})
    with pytest.raises(BadInput):
        scenes.register(farm, LOCAL_OWNER, lying)


def test_a_job_for_a_scene_that_is_not_here_is_refused(farm: Farm) -> None:
    with pytest.raises(BadInput, match="does not have this scene"):
        jobs.submit(farm, LOCAL_OWNER, JobSpec(name="x", scene_id="0" * 64))


def test_an_unknown_job_is_named_in_every_answer(farm: Farm) -> None:
    for call in (
        lambda: jobs.get(farm, LOCAL_OWNER, "nope"),
        lambda: jobs.cancel(farm, LOCAL_OWNER, "nope"),
        lambda: frames.listed(farm, LOCAL_OWNER, "nope", 0, 1),
        lambda: frames.get(farm, LOCAL_OWNER, "nope", 1),
        lambda: attempts.listed(farm, LOCAL_OWNER, "nope", failed=True),
        lambda: events.after(farm, LOCAL_OWNER, 0, "nope"),
        lambda: jobs.listed(farm, LOCAL_OWNER, before="nope"),
    ):
        with pytest.raises(NotFound, match="There is no job nope on this farm"):
            call()


def test_cancelling_twice_is_fine_and_an_ended_job_is_a_conflict(farm: Farm, job_id: str) -> None:
    assert jobs.cancel(farm, LOCAL_OWNER, job_id).cancelling
    assert jobs.cancel(farm, LOCAL_OWNER, job_id).cancelling
    with farm.store.write() as connection:
        job_rows.change(connection, job_id, state=JobState.DONE.value)
    with pytest.raises(Conflict, match="is done already"):
        jobs.cancel(farm, LOCAL_OWNER, job_id)


def test_frames_that_were_never_opened_wait(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    job = jobs.get(farm, LOCAL_OWNER, job_id)
    assert (job.frames.total, job.frames.waiting, job.seconds_left) == (24, 24, None)
    page = frames.listed(farm, LOCAL_OWNER, job_id, first=20, count=10)
    assert [view.frame for view in page] == [21, 22, 23, 24]
    assert {view.state for view in page} == {TaskState.WAITING}


def test_before_the_plan_there_are_no_frames(farm: Farm, job_id: str) -> None:
    assert frames.listed(farm, LOCAL_OWNER, job_id, 0, 10) == []
    with pytest.raises(Conflict, match="no frames yet"):
        frames.get(farm, LOCAL_OWNER, job_id, 1)


def test_a_frame_outside_of_the_job_is_not_found(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    with pytest.raises(NotFound, match="no frame 99"):
        frames.get(farm, LOCAL_OWNER, job_id, 99)


def test_a_cut_frame_shows_its_tiles_with_samples_and_previews(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, tiles="2x1")
    left, right = (TaskKey(job_id, TaskKind.TILE, 3, tile) for tile in (0, 1))
    preview = StoredFile(role=Role.PREVIEW, name="p.jpg", key="p", blob=Blob(sha256=SHA, bytes=1))
    with farm.store.write() as c:
        frame_rows.open_frame(c, job_id, 3)
        frame_rows.change(c, job_id, 3, state=TaskState.RUNNING.value)
        for key in (left, right):
            work.open_task(c, key)
        work.change_task(c, left, state=TaskState.DONE.value)
        number = output_rows.add(c, left, "a1", preview)
        work.start_attempt(c, "a2", right, "w1", 5.0)
        work.change_task(c, right, state=TaskState.RUNNING.value)
        work.change_attempt(
            c, "a2", progress=Progress(phase="rendering", sample=3, samples=64).model_dump_json()
        )
    frame = frames.get(farm, LOCAL_OWNER, job_id, 3)
    assert (frame.state, frame.worker_id, frame.preview, frame.outputs) == (TaskState.RUNNING, "w1", None, ())
    done, running = frame.tiles
    assert (done.state, done.preview, done.width) == (TaskState.DONE, number, 320)
    assert (running.state, running.x, running.worker_id) == (TaskState.RUNNING, 320, "w1")
    assert running.progress is not None
    assert (running.progress.sample, running.progress.samples) == (3, 64)


def test_an_unknown_output_is_explained(farm: Farm) -> None:
    with pytest.raises(NotFound, match="no file 7"):
        outputs.stream(farm, LOCAL_OWNER, 7)


def test_the_pulse_counts_workers_only_while_a_dispatcher_beats(farm: Farm, job_id: str) -> None:
    with farm.store.write() as connection:
        workers.put(connection, worker("w1"), "idle", None, 1.0)
        head.take(connection, farm.now())
    pulse = status.pulse(farm, LOCAL_OWNER)
    assert (pulse.dispatcher, pulse.storage, pulse.workers[0].state) == ("alive", "ok", "idle")
    assert (pulse.rendering, pulse.waiting) == (0, 1)
    with farm.store.write() as connection:
        head.beat(connection, farm.now() - 60)
    pulse = status.pulse(farm, LOCAL_OWNER)
    assert (pulse.dispatcher, pulse.workers[0].state) == ("away", "lost")


def test_storage_is_asked_once_however_many_pages_ask_and_again_after_a_while() -> None:
    now, asked = 0.0, 0

    class Counting(MemoryStorage):
        def ping(self) -> None:
            nonlocal asked
            asked += 1
            super().ping()

    storage = Counting()
    health = Health(storage, lambda: now)
    assert [health.storage_answers() for _ in range(5)] == [True] * 5
    storage.away = True
    assert health.storage_answers()
    now += HOLDS_SECONDS
    assert not health.storage_answers()
    assert not health.storage_answers()
    assert asked == 2


def test_pages_do_not_wait_for_storage_that_is_being_asked() -> None:
    now = 0.0
    asked, answer = threading.Event(), threading.Event()

    class Slow(MemoryStorage):
        def ping(self) -> None:
            if now:
                asked.set()
                answer.wait(10)

    health = Health(Slow(), lambda: now)
    assert health.storage_answers()
    now = 100.0
    asking = threading.Thread(target=health.storage_answers)
    asking.start()
    assert asked.wait(10)
    assert health.storage_answers()  # the last that was known, at once
    answer.set()
    asking.join()
