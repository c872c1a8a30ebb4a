"""The API's contract: paths, statuses, values, problems."""

from __future__ import annotations

import hashlib
import logging

import pytest
from fastapi.testclient import TestClient

from farm.domain.errors import Unavailable
from farm.domain.job import LOCAL_OWNER
from farm.domain.states import JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Proof, Role, Row
from tests.unit.web.fake_farm import CLASS, SCENE_ID, FakeFarm
from web.limit import LARGEST_REQUEST

PROBLEM = "application/problem+json"
SAME = Row(kind="pass", name="ViewLayer.Combined", same=True, pixels=4, differing=0, largest=0.0)


def test_a_submitted_job_is_created_and_can_be_read_back(client: TestClient) -> None:
    answer = client.post(
        "/api/jobs", json={"name": "shot", "scene_id": SCENE_ID, "settings": {"samples": 16}}
    )
    assert answer.status_code == 201
    job = answer.json()
    assert (job["state"], job["owner"], job["settings"]["samples"]) == ("waiting", "local", 16)
    assert client.get(f"/api/jobs/{job['id']}").json() == job


def test_jobs_come_newest_first_and_page_by_before(client: TestClient, farm: FakeFarm) -> None:
    for name in ("one", "two", "three"):
        farm.add(name, name)
    assert [job["id"] for job in client.get("/api/jobs?limit=2").json()] == ["three", "two"]
    assert [job["id"] for job in client.get("/api/jobs?limit=2&before=two").json()] == ["one"]


def test_cancelling_says_so_and_an_ended_job_is_a_conflict(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    assert client.post("/api/jobs/a/cancel").json()["cancelling"] is True
    farm.end("a", JobState.CANCELLED)
    answer = client.post("/api/jobs/a/cancel")
    assert (answer.status_code, answer.headers["content-type"]) == (409, PROBLEM)
    assert answer.json() == {
        "type": "urn:tessera:problem:conflict",
        "title": "Not possible now",
        "status": 409,
        "detail": "Job a is cancelled already.",
        "cure": "There is nothing to cancel.",
        "code": "conflict",
    }


def test_a_job_is_changed_in_part_and_the_answer_shows_it_with_what_may_surprise(
    client: TestClient, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    farm.notes = ("No worker of the farm has the tag “rtx” now: the job waits for one that does.",)
    job = client.patch("/api/jobs/a", json={"priority": 80, "needs": {"tags": ["rtx"]}}).json()
    assert (job["control"]["priority"], job["control"]["needs"]) == (80, {"memory": 0, "tags": ["rtx"]})
    assert job["notes"] == list(farm.notes)
    job = client.patch("/api/jobs/a", json={"paused": True}).json()
    assert (job["control"]["priority"], job["control"]["paused"]) == (80, True)
    assert client.get("/api/jobs/a").json()["control"] == job["control"]
    assert client.get("/api/jobs/a").json()["notes"] == []


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"priority": 101}, 400, "There is no priority 101."),
        ({"needs": {"tags": ["My GPU"]}}, 400, "“My GPU” is not a tag."),
        ({"after": ["b", "b"]}, 400, "A job is named twice among those to wait for."),
        ({"start": -1}, 400, "-1 is not a moment to start at."),
        ({"start": 1e300}, 400, "1e+300 is not a moment to start at."),
        ({"after": [f"j{n}" for n in range(1001)]}, 400, "A job cannot wait for 1,001 others."),
        ({"workers": -1}, 422, "“workers” is wrong: input should be greater than or equal to 0."),
        ({"order": "turn"}, 422, "“order” is not known here."),
    ],
)
def test_a_change_that_cannot_be_is_a_problem_and_changes_nothing(
    client: TestClient, farm: FakeFarm, body: dict[str, object], status: int, detail: str
) -> None:
    farm.add("shot", "a")
    answer = client.patch("/api/jobs/a", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert answer.json()["detail"] == detail
    assert client.get("/api/jobs/a").json()["control"]["priority"] == 50


def test_a_page_from_elsewhere_changes_nothing(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    answer = client.patch("/api/jobs/a", json={"paused": True}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
    assert not farm.job(LOCAL_OWNER, "a").control.paused


def test_a_job_is_retried_and_frames_are_requeued(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.end("a", JobState.FAILED, "It broke.")
    assert client.post("/api/jobs/a/retry").json()["state"] == "waiting"
    assert client.post("/api/jobs/a/requeue", json={"frames": "3-7"}).status_code == 200
    assert farm.requeued == [("a", None), ("a", "3-7")]
    assert client.post("/api/jobs/a/requeue", json={"frames": "7-3"}).status_code == 400
    farm.end("a", JobState.DONE)
    answer = client.post("/api/jobs/a/retry")
    assert (answer.status_code, answer.json()["detail"]) == (409, "Job a is done: nothing of it is missing.")


def test_limits_are_listed_and_set_by_user(client: TestClient) -> None:
    assert client.get("/api/limits").json() == [{"id": "local", "name": "local", "workers": None}]
    assert client.put("/api/limits/local", json={"workers": 4}).json()["workers"] == 4
    for wrong in (0, 1 << 31, "many"):
        assert client.put("/api/limits/local", json={"workers": wrong}).status_code == 422
    assert client.put("/api/limits/local", json={"workers": None}).json()["workers"] is None
    assert client.put("/api/limits/nobody", json={"workers": 4}).status_code == 404


def test_a_frame_tells_where_it_comes_from(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-2")
    farm.fail_attempt("a", TaskKey("a", TaskKind.FRAME, 1), "Blender crashed.", "Try again.")
    told = client.get("/api/jobs/a/frames/1/provenance").json()
    assert (told["frame"], told["files"]) == (1, {"shot.blend": "ab" * 32})
    assert [one["what"] for one in told["attempts"]] == ["Blender crashed."]
    assert client.get("/api/jobs/a/frames/9/provenance").status_code == 404


def test_frames_are_listed_by_index_without_tiles_and_one_has_them(
    client: TestClient, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    assert client.get("/api/jobs/a/frames").json() == []
    farm.plan("a", "10-20x2", grid="2x2")
    listed = client.get("/api/jobs/a/frames?first=1&count=2").json()
    assert [(frame["frame"], frame["tiles"]) for frame in listed] == [(12, []), (14, [])]
    one = client.get("/api/jobs/a/frames/12").json()
    assert [(tile["x"], tile["y"]) for tile in one["tiles"]] == [(0, 0), (960, 0), (0, 540), (960, 540)]
    assert client.get("/api/jobs/a/frames/11").status_code == 404
    assert client.get("/api/jobs/a/frames?count=1001").status_code == 422


def test_failed_attempts_are_told_apart(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-2")
    farm.fail_attempt("a", TaskKey("a", TaskKind.FRAME, 1), "Blender crashed.", "Try again.")
    (failed,) = client.get("/api/jobs/a/attempts?failed=true").json()
    assert (failed["what"], failed["words"]) == ("Blender crashed.", "frame 1")


def proof(frame: int, *rows: Row) -> Proof:
    return Proof(frame=frame, render_class=CLASS, rows=rows or (SAME,), seconds=3.2)


def test_verifying_makes_a_job_and_its_proofs_come_by_the_page(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-4", grid="2x2")
    early = client.post("/api/jobs/a/verify", json={})
    assert (early.status_code, early.headers["content-type"]) == (409, PROBLEM)
    farm.end("a", JobState.DONE)
    answer = client.post("/api/jobs/a/verify", json={"frames": "1-3"})
    assert answer.status_code == 201
    job = answer.json()["job"]
    assert (job["proves"], job["name"], job["plan"]["frames"]) == ("a", "proof of shot", "1-3")
    for frame in (1, 2, 3):
        farm.prove(job["id"], proof(frame, Row(kind="pass", name="ViewLayer.Depth", same=frame != 2)))
    page = client.get("/api/jobs/a/proofs?first=1&count=2").json()
    assert [(one["frame"], one["by_job"], one["proof"]["rows"][0]["same"]) for one in page] == [
        (2, job["id"], False),
        (3, job["id"], True),
    ]
    told = client.get("/api/jobs/a").json()
    assert (told["verified"], told["differing"]) == (3, 1)


def test_where_there_is_nothing_to_prove_no_job_is_made(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-4")
    farm.end("a", JobState.DONE)
    answer = client.post("/api/jobs/a/verify", json={"frames": None})
    assert answer.status_code == 200
    assert answer.json() == {
        "job": None,
        "reason": "Nothing to prove: the frames of job a were never cut.",
    }
    assert len(client.get("/api/jobs").json()) == 1


@pytest.mark.parametrize(
    ("body", "status"), [({"frames": "all"}, 400), ({"frame": "1"}, 422), ({"frames": 7}, 422)]
)
def test_a_verification_that_cannot_be_read_is_refused(
    client: TestClient, farm: FakeFarm, body: dict[str, object], status: int
) -> None:
    farm.add("shot", "a")
    assert client.post("/api/jobs/a/verify", json=body).status_code == status


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"split": "rows"}, "“rows” is not a way to cut frames."),
        (
            {"split": "samples:2", "tiles": "2x2"},
            "A frame is cut into 2x2 tiles or into sample ranges, not both.",
        ),
        (
            {"first": 8, "tiles": "2x2"},
            "The first 8 samples cannot be kept of frames cut into 2x2 tiles.",
        ),
        ({"first": 64, "samples": 64}, "The first 64 of 64 samples are all of them."),
    ],
)
def test_settings_that_do_not_go_together_are_a_usage_error_with_a_cure(
    client: TestClient, settings: dict[str, object], what: str
) -> None:
    answer = client.post("/api/jobs", json={"name": "x", "scene_id": SCENE_ID, "settings": settings})
    assert (answer.status_code, answer.json()["detail"]) == (400, what)
    assert answer.json()["cure"]


def test_a_movie_is_listed_with_its_job_and_shown_in_place_with_ranges(
    client: TestClient, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    movie = farm.film("a", "out/shot.mp4", bytes(range(200)))
    (listed,) = client.get("/api/jobs/a").json()["videos"]
    assert (listed["id"], listed["role"], listed["name"]) == (movie.id, "video", "out/shot.mp4")
    answer = client.get(f"/api/outputs/{movie.id}", headers={"Range": "bytes=10-19"})
    assert (answer.status_code, answer.content) == (206, bytes(range(10, 20)))
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["content-disposition"].startswith("inline;")
    other = farm.film("a", "shot.mkv", b"x", "video/x-matroska")
    assert client.get(f"/api/outputs/{other.id}").headers["content-disposition"].startswith("attachment;")


def test_a_blob_is_streamed_in_pieces_and_then_no_longer_missing(client: TestClient, farm: FakeFarm) -> None:
    content = bytes(range(256)) * 10_000  # 2.56 MB
    name = hashlib.sha256(content).hexdigest()
    other = "0" * 64

    def pieces() -> list[bytes]:
        return [content[start : start + 65536] for start in range(0, len(content), 65536)]

    answer = client.put(f"/api/blobs/{name}", content=iter(pieces()))
    assert (answer.status_code, answer.json()) == (201, {"sha256": name, "bytes": len(content)})
    assert farm.blobs[name] == content
    assert client.post("/api/blobs/missing", json={"sha256": [name, other]}).json() == {"sha256": [other]}


def test_an_empty_blob_can_be_stored(client: TestClient, farm: FakeFarm) -> None:
    name = hashlib.sha256(b"").hexdigest()
    assert client.put(f"/api/blobs/{name}", content=b"").json() == {"sha256": name, "bytes": 0}


def test_a_blob_under_a_wrong_hash_is_refused(client: TestClient, farm: FakeFarm) -> None:
    answer = client.put(f"/api/blobs/{'1' * 64}", content=b"something")
    assert (answer.status_code, answer.headers["content-type"]) == (422, PROBLEM)
    assert farm.blobs == {}


def test_a_scene_is_named_by_its_content(client: TestClient) -> None:
    manifest = {"main": "a.blend", "files": {"a.blend": {"sha256": "a" * 64, "bytes": 3}}}
    first = client.post("/api/scenes", json=manifest)
    assert first.status_code == 200
    assert len(first.json()["scene_id"]) == 64
    assert client.post("/api/scenes", json=manifest).json() == first.json()


def test_the_pulse_tells_workers_and_parts(client: TestClient, farm: FakeFarm) -> None:
    farm.add_worker("node-1")
    farm.dispatcher = "away"
    pulse = client.get("/api/farm").json()
    assert (pulse["dispatcher"], pulse["storage"]) == ("away", "ok")
    assert pulse["workers"][0]["info"]["host"] == "node-1"


def test_healthz_answers_even_when_the_farm_does_not(client: TestClient, farm: FakeFarm) -> None:
    farm.trouble = Unavailable("The database does not answer.")
    assert client.get("/healthz").status_code == 200


# --- outputs ---


def test_an_output_comes_whole_with_its_hash_and_is_never_asked_for_twice(
    client: TestClient, farm: FakeFarm
) -> None:
    content = b"\x89PNG" + bytes(200_000)
    output = farm.store("renders/Größe “1”.png", content, "image/png", Role.OUTPUT)
    answer = client.get(f"/api/outputs/{output.id}")
    assert answer.content == content
    assert answer.headers["etag"] == f'"{output.sha256}"'
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert answer.headers["content-length"] == str(len(content))
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["content-disposition"] == (
        "inline; filename=\"Gr__e _1_.png\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%E2%80%9C1%E2%80%9D.png"
    )
    again = client.get(f"/api/outputs/{output.id}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(f"/api/outputs/{output.id}", headers={"If-None-Match": '"something else"'})
    assert other.status_code == 200


def test_an_output_can_be_asked_for_as_a_download(client: TestClient, farm: FakeFarm) -> None:
    output = farm.store("a.png", b"x", "image/png", Role.OUTPUT)
    answer = client.get(f"/api/outputs/{output.id}?download=true")
    assert answer.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    "media_type", ["text/html", "image/svg+xml", "application/xhtml+xml", "text/html\r\nX: y"]
)
def test_what_a_browser_would_run_is_only_ever_saved(
    client: TestClient, farm: FakeFarm, media_type: str
) -> None:
    output = farm.store('x"\r\nSet-Cookie: a=b.html', b"<script>1</script>", media_type, Role.OUTPUT)
    answer = client.get(f"/api/outputs/{output.id}")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert "set-cookie" not in answer.headers


def test_storage_that_is_away_is_a_503_before_any_byte(client: TestClient, farm: FakeFarm) -> None:
    output = farm.store("a.png", b"x", "image/png")
    farm.storage_trouble = Unavailable("Storage does not answer.", "Wait until it is back.")
    answer = client.get(f"/api/outputs/{output.id}")
    assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM)
    assert answer.headers["retry-after"] == "2"


@pytest.mark.parametrize(
    ("asked", "part", "told"),
    [
        ("bytes=0-0", slice(0, 1), "bytes 0-0/200000"),
        ("bytes=65530-65540", slice(65530, 65541), "bytes 65530-65540/200000"),
        ("bytes=199999-", slice(199999, None), "bytes 199999-199999/200000"),
        ("bytes=100000-999999999", slice(100000, None), "bytes 100000-199999/200000"),
        ("bytes=-5", slice(-5, None), "bytes 199995-199999/200000"),
        ("bytes=-999999999", slice(0, None), "bytes 0-199999/200000"),
    ],
)
def test_a_part_of_an_output_can_be_asked_for(
    client: TestClient, farm: FakeFarm, asked: str, part: slice, told: str
) -> None:
    content = bytes(index % 251 for index in range(200_000))
    output = farm.store("a.png", content, "image/png")
    answer = client.get(f"/api/outputs/{output.id}", headers={"Range": asked})
    assert (answer.status_code, answer.headers["content-range"]) == (206, told)
    assert answer.content == content[part]
    assert answer.headers["content-length"] == str(len(content[part]))


@pytest.mark.parametrize(
    "headers",
    [
        {"Range": "bytes=5-1"},
        {"Range": "bytes=-"},
        {"Range": "bytes=0-1,3-4"},
        {"Range": "frames=1-2"},
        {"Range": "bytes=0-1", "If-Range": '"another"'},
    ],
)
def test_a_range_that_is_none_or_of_another_file_gives_the_whole(
    client: TestClient, farm: FakeFarm, headers: dict[str, str]
) -> None:
    output = farm.store("a.png", b"0123456789", "image/png")
    answer = client.get(f"/api/outputs/{output.id}", headers=headers)
    assert (answer.status_code, answer.content) == (200, b"0123456789")


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=10-20", "bytes=-0"])
def test_a_part_past_the_end_is_refused_with_the_size(client: TestClient, farm: FakeFarm, asked: str) -> None:
    output = farm.store("a.png", b"0123456789", "image/png")
    answer = client.get(f"/api/outputs/{output.id}", headers={"Range": asked})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */10")
    assert answer.json()["detail"] == "The file ends before the part that was asked for."


def test_an_empty_output_is_empty_and_has_no_parts(client: TestClient, farm: FakeFarm) -> None:
    output = farm.store("a.txt", b"", "text/plain")
    assert client.get(f"/api/outputs/{output.id}").content == b""
    assert client.get(f"/api/outputs/{output.id}", headers={"Range": "bytes=0-"}).status_code == 416


@pytest.mark.parametrize(
    "path", ["/", "/farm", "/healthz", "/api/jobs", "/api/outputs/{}", "/static/base.css"]
)
def test_head_says_what_get_would_and_sends_nothing(client: TestClient, farm: FakeFarm, path: str) -> None:
    path = path.format(farm.store("a.png", bytes(200_000), "image/png").id)
    full, head = client.get(path), client.head(path)
    assert head.content == b""
    assert head.status_code == full.status_code == 200
    assert head.headers["content-length"] == full.headers["content-length"]
    assert head.headers["content-type"] == full.headers["content-type"]


def test_head_of_a_stream_that_never_ends_ends(client: TestClient) -> None:
    answer = client.head("/api/events/stream")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_head_of_what_is_not_there_is_a_404(client: TestClient) -> None:
    assert client.head("/api/jobs/none").status_code == 404


# --- problems ---


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"scene_id": SCENE_ID}, "“name” is missing."),
        (
            {"name": "a", "scene_id": "x"},
            "“scene_id” is wrong: string should match pattern '^[0-9a-f]{64}$'.",
        ),
        ({"name": "a", "scene_id": SCENE_ID, "colour": 1}, "“colour” is not known here."),
        (
            {"name": "a", "scene_id": SCENE_ID, "settings": {"samples": 0}},
            "“settings.samples” is wrong: input should be greater than or equal to 1.",
        ),
        ("{", "The body is not JSON."),
        ("[]", "The body is not a JSON object, or was not sent as Content-Type: application/json."),
    ],
)
def test_a_malformed_request_is_told_in_words(client: TestClient, body: object, detail: str) -> None:
    answer = (
        client.post("/api/jobs", content=body, headers={"Content-Type": "application/json"})
        if isinstance(body, str)
        else client.post("/api/jobs", json=body)
    )
    assert (answer.status_code, answer.headers["content-type"]) == (422, PROBLEM)
    assert answer.json()["detail"] == detail
    assert answer.json()["cure"]


def test_a_frame_range_that_cannot_be_read_is_a_usage_error(client: TestClient) -> None:
    body = {"name": "a", "scene_id": SCENE_ID, "settings": {"frames": "5-1"}}
    answer = client.post("/api/jobs", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM)
    assert answer.json()["detail"] == "Frame range “5-1” runs backwards."
    assert answer.json()["cure"] == "Write 1-5."


def test_many_faults_are_told_as_three_and_a_count(client: TestClient) -> None:
    body = {"name": "a", "scene_id": SCENE_ID, "a": 1, "b": 1, "c": 1, "d": 1, "e": 1}
    assert client.post("/api/jobs", json=body).json()["detail"].endswith("And 2 more.")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/jobs/none", 404),
        ("GET", "/api/outputs/99", 404),
        ("GET", "/api/outputs/x", 422),
        ("GET", "/api/nothing", 404),
        ("DELETE", "/api/jobs", 405),
        ("PUT", "/api/blobs/xyz", 422),
        ("GET", "/api/events?after=-1", 422),
        ("GET", "/api/events/stream?job=none", 404),
        ("GET", "/api/events?job=none", 404),
    ],
)
def test_every_error_of_the_api_is_a_problem(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert answer.json()["status"] == status
    assert answer.json()["detail"]
    assert answer.json()["cure"]


def test_a_request_that_would_fill_the_memory_is_refused_but_a_blob_may_be_larger(
    client: TestClient,
) -> None:
    large = b" " * (LARGEST_REQUEST + 1)
    answer = client.post("/api/jobs", content=large, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (413, PROBLEM)
    assert answer.json()["detail"] == "The request is larger than this call takes."
    name = hashlib.sha256(large).hexdigest()
    assert client.put(f"/api/blobs/{name}", content=large).status_code == 201


def test_a_fault_of_ours_tells_no_traceback_but_logs_one(
    client: TestClient, farm: FakeFarm, caplog: pytest.LogCaptureFixture
) -> None:
    farm.trouble = RuntimeError("secret inner working")
    with caplog.at_level(logging.ERROR, logger="web.problems"):
        answer = client.get("/api/jobs")
    assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM)
    assert "secret" not in answer.text
    (record,) = caplog.records
    reference = answer.json()["detail"].partition("reference ")[2].rstrip(").")
    assert reference in record.getMessage()
    assert record.exc_info is not None


# --- the description ---


def test_the_description_covers_the_api_and_says_that_errors_are_problems(client: TestClient) -> None:
    document = client.get("/api/openapi.json").json()
    operations = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert operations == {
        ("GET", "/api/farm"),
        ("POST", "/api/blobs/missing"),
        ("PUT", "/api/blobs/{sha256}"),
        ("POST", "/api/scenes"),
        ("POST", "/api/jobs"),
        ("GET", "/api/jobs"),
        ("GET", "/api/jobs/{job_id}"),
        ("PATCH", "/api/jobs/{job_id}"),
        ("POST", "/api/jobs/{job_id}/retry"),
        ("POST", "/api/jobs/{job_id}/requeue"),
        ("GET", "/api/limits"),
        ("PUT", "/api/limits/{user_id}"),
        ("GET", "/api/jobs/{job_id}/frames/{frame}/provenance"),
        ("POST", "/api/jobs/{job_id}/cancel"),
        ("POST", "/api/jobs/{job_id}/verify"),
        ("GET", "/api/jobs/{job_id}/proofs"),
        ("GET", "/api/jobs/{job_id}/frames"),
        ("GET", "/api/jobs/{job_id}/frames/{frame}"),
        ("GET", "/api/jobs/{job_id}/attempts"),
        ("GET", "/api/outputs/{output_id}"),
        ("GET", "/api/events"),
        ("GET", "/api/events/stream"),
    }
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert operation["tags"]
            for status, response in operation["responses"].items():
                if status >= "400":
                    schema = response["content"][PROBLEM]["schema"]
                    assert schema == {"$ref": "#/components/schemas/ProblemDetails"}
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_a_frame_that_is_done_has_a_preview_to_fetch(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-2")
    farm.finish("a", 1, b"picture")
    frame = client.get("/api/jobs/a/frames/1").json()
    assert frame["state"] == TaskState.DONE
    assert client.get(f"/api/outputs/{frame['preview']}").content == b"picture"
