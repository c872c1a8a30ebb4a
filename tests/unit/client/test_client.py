"""The verbs of the client, against a farm on a real port."""

import hashlib
import json
import threading
from pathlib import Path

import pytest

from farm.assets.hashing import blob_of
from farm.client.client import FarmClient
from farm.client.testing import FakeFarm, served
from farm.domain.control import ControlChange
from farm.domain.errors import BadInput, Conflict, NotFound, Unavailable, UsageError
from farm.domain.events import EventKind
from farm.domain.job import JobSpec
from farm.domain.scene import Blob, SceneManifest
from farm.domain.states import JobState, TaskState
from farm.domain.views import ProofView
from farm.domain.work import Proof, RenderClass


def scene(folder: Path, **files: bytes) -> SceneManifest:
    named = {name.replace("_", "."): data for name, data in files.items()}
    for name, data in named.items():
        (folder / name).write_bytes(data)
    return SceneManifest(main=next(iter(named)), files={name: blob_of(folder / name) for name in named})


def submitted(client: FarmClient, folder: Path) -> str:
    manifest = scene(folder, x_blend=b"scene")
    ref = client.upload_scene(manifest, folder)
    return client.submit(JobSpec(name="x", scene_id=ref.scene_id)).id


def test_a_scene_is_sent_and_registered_under_its_own_id(client, farm, tmp_path):
    manifest = scene(tmp_path, x_blend=b"scene", a_png=b"a" * 3_000_000, empty_txt=b"")
    assert client.upload_scene(manifest, tmp_path).scene_id == manifest.scene_id
    assert set(farm.blobs.values()) == {b"scene", b"a" * 3_000_000, b""}


def test_only_what_the_farm_lacks_is_sent(client, farm, tmp_path):
    client.upload_scene(scene(tmp_path, x_blend=b"scene", a_png=b"a"), tmp_path)
    farm.calls.clear()
    client.upload_scene(scene(tmp_path, x_blend=b"scene 2", a_png=b"a"), tmp_path)
    sent = [call.body for call in farm.calls if call.method == "PUT"]
    assert sent == [b"scene 2"]


def test_the_same_content_twice_is_sent_once(client, farm, tmp_path):
    client.upload_scene(scene(tmp_path, x_blend=b"scene", a_png=b"a", b_png=b"a"), tmp_path)
    assert len([call for call in farm.calls if call.method == "PUT"]) == 2


def test_progress_tells_bytes_up_to_the_total(client, tmp_path):
    told: list[tuple[int, int]] = []
    manifest = scene(tmp_path, x_blend=b"scene", a_png=b"a" * 3_000_000)
    client.upload_scene(manifest, tmp_path, lambda sent, total: told.append((sent, total)))
    assert told[0] == (0, 3_000_005)
    assert told[-1] == (3_000_005, 3_000_005)


def test_progress_takes_back_what_a_failed_try_had_sent(client, farm, tmp_path):
    client.farm()
    told: list[int] = []
    original = farm.blobs

    class AwayOnce(dict):
        def __setitem__(self, key, value):
            if not original:
                original["tried"] = b""
                raise Unavailable("Storage is away.")
            super().__setitem__(key, value)

    farm.blobs = AwayOnce()
    client.upload_scene(scene(tmp_path, x_blend=b"scene"), tmp_path, lambda sent, _: told.append(sent))
    assert max(told) <= 10
    assert told[-1] >= 5


@pytest.mark.parametrize("now", [b"other", b"longer than it was", b""])
def test_a_file_that_changed_since_it_was_hashed_is_refused(client, farm, tmp_path, now):
    manifest = scene(tmp_path, x_blend=b"scene")
    (tmp_path / "x.blend").write_bytes(now)
    with pytest.raises(BadInput):
        client.upload_scene(manifest, tmp_path)
    assert farm.scenes == {}


def test_a_file_that_vanished_is_named(client, tmp_path):
    manifest = SceneManifest(
        main="x.blend", files={"x.blend": Blob(sha256=hashlib.sha256(b"s").hexdigest(), bytes=1)}
    )
    with pytest.raises(BadInput, match=r"x\.blend” cannot be read"):
        client.upload_scene(manifest, tmp_path)


def test_a_job_is_submitted_listed_shown_and_cancelled(client, tmp_path):
    job_id = submitted(client, tmp_path)
    assert client.job(job_id).state is JobState.WAITING
    assert [job.id for job in client.jobs()] == [job_id]
    assert client.cancel(job_id).state is JobState.CANCELLED
    with pytest.raises(Conflict):
        client.cancel(job_id)


@pytest.mark.parametrize("job_id", ["nosuch", "a b/ü?x=1", "../jobs"])
def test_an_unknown_job_is_not_found_whatever_was_typed(client, job_id):
    with pytest.raises(NotFound):
        client.job(job_id)


def test_a_submit_whose_answer_is_503_is_not_repeated(client, farm, tmp_path):
    submitted(client, tmp_path)
    ref = client.upload_scene(scene(tmp_path, x_blend=b"scene"), tmp_path)
    farm.away = 1
    with pytest.raises(Unavailable):
        client.submit(JobSpec(name="x", scene_id=ref.scene_id))
    assert len(farm.jobs) == 1


def test_frames_come_page_by_page_in_order(client, farm, tmp_path):
    job_id = submitted(client, tmp_path)
    farm.plan(job_id, "1-2500")
    assert [frame.frame for frame in client.frames(job_id)] == list(range(1, 2501))
    assert len([call for call in farm.calls if call.path.endswith("/frames")]) == 3


def test_a_verification_whose_answer_is_lost_is_not_begun_twice(client, farm, tmp_path):
    job_id = submitted(client, tmp_path)
    farm.plan(job_id, "1-3", grid="2x2")
    farm.end(job_id)
    farm.away = 1
    with pytest.raises(Unavailable):
        client.verify(job_id)
    assert len(farm.jobs) == 1
    made = client.verify(job_id, "2-3").job
    assert (made.proves, made.settings.frames, len(farm.jobs)) == (job_id, "2-3", 2)


def test_proofs_come_page_by_page_in_order(client, farm, tmp_path):
    job_id = submitted(client, tmp_path)
    farm.plan(job_id, "1-450")
    by = RenderClass(blender="5.2.3", device="CPU", kernel="avx2")
    for frame in range(1, 451):
        proof = Proof(frame=frame, render_class=by, rows=())
        seen = ProofView(frame=frame, by_job="p", time=1.0, proof=proof)
        farm.proofs.setdefault(job_id, {})[frame] = seen
    assert [one.frame for one in client.proofs(job_id)] == list(range(1, 451))
    assert len([call for call in farm.calls if call.path.endswith("/proofs")]) == 3


def test_follow_tells_every_event_once_and_stops_at_the_end(client, farm, tmp_path):
    job_id = submitted(client, tmp_path)

    def go_on() -> None:
        farm.plan(job_id, "1-2")
        farm.count(job_id, 1, 4, 8)
        farm.finish(job_id, 1, {"a.png": b"1"})
        farm.finish(job_id, 2, {"b.png": b"2"})
        farm.end(job_id)

    thread = threading.Thread(target=go_on)
    thread.start()
    events = [event for bunch in client.follow(job_id, wait=1) for event in bunch]
    thread.join()
    assert [event.sequence for event in events] == list(range(1, len(farm.events) + 1))
    assert events[-1].kind == EventKind.JOB_STATE


def test_follow_of_an_ended_job_tells_its_events_and_stops(client, farm, tmp_path):
    job_id = submitted(client, tmp_path)
    farm.plan(job_id, "1-700")
    for frame in range(1, 701):
        farm.finish(job_id, frame, {})
    farm.end(job_id)
    events = [event for bunch in client.follow(job_id) for event in bunch]
    assert len(events) == 702


def test_follow_survives_a_farm_that_restarts_on_the_same_port(farm, tmp_path):
    with served(farm) as url, FarmClient(url, sleep=lambda _: None) as client:
        job_id = submitted(client, tmp_path)
        port = int(url.rsplit(":", 1)[1])
    with FarmClient(url, sleep=lambda _: restart.set()) as client:
        restart = threading.Event()
        farm.plan(job_id, "1")

        def come_back() -> None:
            restart.wait(10)
            with served(farm, port):
                over.wait(10)

        over = threading.Event()
        with served(farm, port):
            client.job(job_id)
        thread = threading.Thread(target=come_back)
        thread.start()
        farm.finish(job_id, 1, {})
        farm.end(job_id)
        events = [event for bunch in client.follow(job_id) for event in bunch]
        over.set()
        thread.join()
    assert events[-1].data["state"] == "done"


def finished(client: FarmClient, farm: FakeFarm, folder: Path, data: bytes = b"picture"):
    job_id = submitted(client, folder)
    farm.plan(job_id, "1")
    farm.finish(job_id, 1, {"shot_0001.png": data})
    frame = client.frame(job_id, 1)
    assert frame.state is TaskState.DONE
    return frame.outputs[0]


def test_an_output_is_downloaded_once_and_known_again(client, farm, tmp_path):
    output, path = finished(client, farm, tmp_path), tmp_path / "out.png"
    assert client.download(output, path) is True
    assert path.read_bytes() == b"picture"
    assert client.download(output, path) is False
    assert len([call for call in farm.calls if "/outputs/" in call.path]) == 1


def test_a_download_never_replaces_another_file_unless_told(client, farm, tmp_path):
    output, path = finished(client, farm, tmp_path), tmp_path / "out.png"
    path.write_bytes(b"mine")
    with pytest.raises(Conflict):
        client.download(output, path)
    assert path.read_bytes() == b"mine"
    assert client.download(output, path, overwrite=True) is True
    assert path.read_bytes() == b"picture"


def test_a_download_damaged_on_the_way_is_fetched_again(client, farm, tmp_path):
    output, path = finished(client, farm, tmp_path), tmp_path / "out.png"
    farm.damaged = 1
    assert client.download(output, path) is True
    assert path.read_bytes() == b"picture"


def test_a_download_that_stays_damaged_is_refused_and_leaves_nothing(client, farm, tmp_path):
    output, path = finished(client, farm, tmp_path), tmp_path / "deep" / "out.png"
    farm.damaged = 100
    with pytest.raises(Unavailable, match="arrived damaged"):
        client.download(output, path)
    assert list((tmp_path / "deep").iterdir()) == []


def test_a_job_is_changed_while_it_waits_and_what_is_not_given_stays(client, farm, tmp_path):
    job_id = submitted(client, tmp_path)
    assert client.change(job_id, ControlChange(priority=80)).control.priority == 80
    changed = client.change(job_id, ControlChange(paused=True, workers=2)).control
    assert (changed.priority, changed.paused, changed.workers) == (80, True, 2)
    assert json.loads(farm.calls[-1].body) == {"paused": True, "workers": 2}
    assert client.job(job_id).control == changed
    with pytest.raises(UsageError, match="no priority 101"):
        client.change(job_id, ControlChange(priority=101))


def test_a_retry_goes_on_and_frames_are_requeued_by_name(client, farm, tmp_path):
    job_id = submitted(client, tmp_path)
    farm.plan(job_id, "1-3")
    farm.fail(job_id, 2, "It broke.")
    with pytest.raises(Conflict):
        client.requeue(job_id, "1")
    assert client.requeue(job_id, "1-3").frames.failed == 0
    farm.end(job_id, JobState.FAILED)
    assert client.retry(job_id).retrying


def test_requeueing_is_not_repeated_when_its_answer_is_lost(client, farm, tmp_path):
    job_id = submitted(client, tmp_path)
    farm.plan(job_id, "1-3")
    farm.fail(job_id, 2, "It broke.")
    farm.away = 1
    with pytest.raises(Unavailable):
        client.requeue(job_id)


def test_limits_are_read_and_set(client):
    assert [(user.id, user.workers) for user in client.limits()] == [("local", None)]
    assert client.limit("local", 3).workers == 3
    assert client.limit("local", None).workers is None
    with pytest.raises(NotFound):
        client.limit("nobody/else", 3)
