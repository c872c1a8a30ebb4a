"""The pages, as the server renders them."""

from __future__ import annotations

import re
import time

import pytest
from fastapi.testclient import TestClient

from farm.domain.errors import Unavailable
from farm.domain.states import JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.views import AttemptView
from farm.domain.work import Progress, Role
from tests.unit.web.fake_farm import FakeFarm, finding, report

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def text(page: str) -> str:
    """What a reader sees: no tags, single spaces."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def rendering(farm: FakeFarm, frames: str = "1-4", **plan: object) -> None:
    farm.add("shot", "a")
    farm.plan("a", frames, **plan)  # type: ignore[arg-type]


# --- jobs ---


def test_an_empty_farm_teaches_how_to_send_a_scene(client: TestClient) -> None:
    page = text(client.get("/").text)
    assert "Nothing to render yet" in page
    assert "farm render scene.blend" in page
    assert "No worker is here yet." in page


def test_a_row_shows_name_owner_state_frames_and_time_left(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    farm.finish("a", 1, b"p")
    farm.set("a", seconds_left=100.0)
    page = client.get("/").text
    row = text(page[page.index('id="job-a"') : page.index("</li>", page.index('id="job-a"'))])
    for words in ("shot", "local", "Rendering", "1 / 4", "about 2 min left", "just now"):
        assert words in row
    assert 'aria-label="1 of 4 frames done"' in page
    assert "/api/outputs/1" in page


@pytest.mark.parametrize(
    ("show", "names"),
    [
        ("all", {"waits", "renders", "ended", "broke", "stopped"}),
        ("running", {"waits", "renders"}),
        ("done", {"ended"}),
        ("failed", {"broke"}),
        ("nonsense", {"waits", "renders", "ended", "broke", "stopped"}),
    ],
)
def test_chips_filter_by_state(client: TestClient, farm: FakeFarm, show: str, names: set[str]) -> None:
    for name in ("waits", "renders", "ended", "broke", "stopped"):
        farm.add(name, name)
    farm.plan("renders")
    farm.end("ended", JobState.DONE)
    farm.end("broke", JobState.FAILED, "It broke.")
    farm.end("stopped", JobState.CANCELLED)
    assert set(re.findall(r'id="job-(\w+)"', client.get(f"/?show={show}").text)) == names


def test_more_jobs_than_a_page_holds_lie_behind_a_link(client: TestClient, farm: FakeFarm) -> None:
    for number in range(120):
        farm.add(f"shot {number}", f"j{number}")
    seen: list[str] = []
    link: str | None = "/"
    while link:
        page = client.get(link).text
        rows = re.findall(r'id="job-(\w+)"', page)
        assert len(rows) <= 50
        seen += rows
        older = re.search(r'href="(/\?[^"]*before=[^"]*)"', page)
        link = older[1].replace("&amp;", "&") if older else None
    assert seen == [f"j{number}" for number in reversed(range(120))]


def test_the_page_says_which_event_it_is_as_of(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    assert f'data-after="{farm.latest_event()}"' in client.get("/").text


# --- one job ---


def test_a_job_shows_its_newest_picture(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    for frame in (1, 2):
        farm.finish("a", frame, f"picture {frame}".encode())
    farm.frame_state("a", 3, TaskState.RUNNING)
    page = client.get("/jobs/a").text
    assert 'data-frame="2"' in page
    shown = re.search(r'<img src="(/api/outputs/\d+)" alt="Frame 2 of shot"', page)
    assert shown
    assert client.get(shown[1]).content == b"picture 2"


def test_the_newest_picture_of_a_long_job_is_found_near_the_settled_ones(
    client: TestClient, farm: FakeFarm
) -> None:
    rendering(farm, "1-5000")
    preview = farm.store("p.jpg", b"p").id
    for frame in range(1, 3001):
        farm.frame_state("a", frame, TaskState.DONE, preview=preview)
    assert 'id="hero" data-live data-frame="3000"' in client.get("/jobs/a").text


def test_a_deep_link_shows_its_frame_and_the_neighbours(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm, "10-20x5,100")
    page = client.get("/jobs/a/frames/15").text
    assert 'id="hero" data-live data-frame="15"' in page
    assert 'href="/jobs/a/frames/10"' in page
    assert 'href="/jobs/a/frames/20"' in page
    last = client.get("/jobs/a/frames/100").text
    assert 'href="/jobs/a/frames/20"' in last
    assert last.count('aria-disabled="true"') == 1
    assert client.get("/jobs/a/frames/11").status_code == 404


def test_a_deep_link_before_the_plan_shows_the_job(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    page = client.get("/jobs/a/frames/7")
    assert page.status_code == 200
    assert "Waiting for a worker" in page.text


def test_tiles_stand_at_their_places_while_a_frame_grows(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm, "1-2", grid="2x2", overlap=8)
    farm.frame_state("a", 1, TaskState.RUNNING)
    preview = farm.store("tile.jpg", b"t")
    farm.tile("a", 1, 0, TaskState.DONE, preview=preview.id)
    farm.tile("a", 1, 1, TaskState.RUNNING, worker_id="node-1")
    farm.progress("a", 1, 34, 128, tile=1)
    page = client.get("/jobs/a").text
    assert 'viewBox="0 0 1920 1080"' in page
    # The preview covers the tile and its overlap, and is clipped around the tile.
    assert f'href="/api/outputs/{preview.id}" x="0" y="0" width="968" height="548"' in page
    assert 'viewBox="-1 -1 962 542"' in page
    assert "34 of 128 samples" in text(page)
    assert "1 of 4 tiles" in text(page)
    assert len(re.findall(r'class="tile t-waiting"', page)) == 2


def test_a_job_of_one_cut_picture_counts_its_tiles(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm, "7", grid="2x2")
    farm.frame_state("a", 7, TaskState.RUNNING)
    farm.tile("a", 7, 0, TaskState.DONE)
    assert 'aria-label="1 of 4 tiles done"' in client.get("/jobs/a").text


def test_a_finished_frame_offers_its_files_the_artists_own_first(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    kept = farm.store("passes.exr", b"e" * 2000, "image/x-exr", Role.EXR)
    own = farm.store("out/shot_0001.png", b"p", "image/png", Role.OUTPUT)
    farm.frame_state("a", 1, TaskState.DONE, outputs=(kept, own), seconds=130.0)
    page = client.get("/jobs/a/frames/1").text
    assert re.findall(r'href="/api/outputs/(\d+)\?download=true"', page) == [str(own.id), str(kept.id)]
    assert "2.0 kB" in page
    assert "2 min 10 s" in page


def test_failed_attempts_are_explained_with_cure_and_log(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    key = TaskKey("a", TaskKind.TILE, 1, 2)
    farm.fail_attempt(
        "a", key, "Out of memory.", "Use a larger worker.", log_tail="System is out of GPU memory"
    )
    page = text(client.get("/jobs/a").text)
    for words in (
        "1 attempt failed",
        "Frame 1, piece 3",
        "Out of memory.",
        "Use a larger worker.",
        "out of GPU memory",
    ):
        assert words in page


def test_findings_are_sorted_by_weight_and_told_with_their_cure(client: TestClient, farm: FakeFarm) -> None:
    scene = report(
        findings=(finding("n", "note", "A note."), finding("w", "warning", "A warning.", "Do this.")),
        blocks_cutting=(finding("e", "error", "An error."),),
    )
    rendering(farm, scene=scene)
    page = text(client.get("/jobs/a").text)
    assert page.index("An error.") < page.index("A warning. Do this.") < page.index("A note.")


def test_a_failed_job_says_why_and_what_to_do_and_cannot_be_cancelled(
    client: TestClient, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    farm.end("a", JobState.FAILED, "The scene has no camera.", "Add one.")
    page = client.get("/jobs/a").text
    assert "The scene has no camera." in page
    assert "Add one." in page
    assert 'id="cancel"' not in page


def test_cancel_is_offered_until_it_is_asked_for(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    assert 'id="cancel"' in client.get("/jobs/a").text
    client.post("/api/jobs/a/cancel")
    page = client.get("/jobs/a").text
    assert 'id="cancel"' not in page
    assert "Cancelling" in page


@pytest.mark.parametrize("state", list(TaskState))
def test_a_frame_of_any_state_without_a_picture_says_so(
    client: TestClient, farm: FakeFarm, state: TaskState
) -> None:
    rendering(farm)
    farm.frame_state("a", 2, state, progress=Progress(phase="syncing"), error="It failed.")
    said = {
        TaskState.WAITING: "Waiting for a worker",
        TaskState.RUNNING: "Syncing",
        TaskState.DONE: "this frame has no preview",
        TaskState.FAILED: "It failed.",
        TaskState.CANCELLED: "Cancelled before it was rendered",
    }
    assert said[state] in text(client.get("/jobs/a/frames/2").text)


# --- the farm ---


def test_workers_are_shown_with_device_and_work(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    attempt = AttemptView.model_validate(
        {
            "id": "t",
            "task": "a/1/whole",
            "words": "frame 1",
            "state": "running",
            "worker_id": "w",
            "started": time.time(),
            "progress": Progress(phase="rendering", sample=5, samples=16),
        }
    )
    farm.add_worker("node-1", "busy", "a", attempt=attempt)
    farm.add_worker("node-2", "lost")
    page = text(client.get("/farm").text)
    for words in ("2 workers", "node-1", "AMD EPYC", "shot", "frame 1", "5 / 16", "Does not answer"):
        assert words in page


def test_parts_that_are_away_are_told_on_every_page_with_a_cure(client: TestClient, farm: FakeFarm) -> None:
    farm.dispatcher = farm.storage = "away"
    assert "The dispatcher is away" in client.get("/").text
    page = text(client.get("/farm").text)
    assert "Storage is away" in page
    assert "farm doctor" in page


# --- trouble ---


@pytest.mark.parametrize("path", ["/jobs/none", "/nothing", "/jobs/a/frames/x", "/static/none.js"])
def test_what_is_not_there_is_a_page_for_people(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "All jobs" in answer.text


def test_a_farm_that_is_away_is_a_page_for_people(client: TestClient, farm: FakeFarm) -> None:
    farm.trouble = Unavailable("The database does not answer.", "Wait until it is back.")
    answer = client.get("/")
    assert answer.status_code == 503
    assert "Wait until it is back." in answer.text


def test_a_fault_of_ours_is_a_page_without_a_traceback(client: TestClient, farm: FakeFarm) -> None:
    farm.trouble = RuntimeError("secret")
    answer = client.get("/")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "reference" in answer.text


def test_whatever_a_hostile_scene_says_is_only_text(client: TestClient, farm: FakeFarm) -> None:
    evil = finding("x", "warning", EVIL, EVIL)
    farm.add(EVIL, "a", owner=EVIL)
    scene = report(scene=EVIL, camera=EVIL, findings=(evil,), output_name=EVIL, blender=EVIL, engine=EVIL)
    farm.plan("a", "1", grid="1x2", reason=EVIL, scene=scene)
    farm.frame_state("a", 1, TaskState.FAILED, error=EVIL, worker_id=EVIL)
    farm.tile("a", 1, 0, TaskState.RUNNING, worker_id=EVIL, progress=Progress(phase=EVIL))
    key = TaskKey("a", TaskKind.FRAME, 1)
    farm.fail_attempt("a", key, EVIL, EVIL, log_tail=EVIL, words=EVIL, worker_id=EVIL)
    farm.add_worker(EVIL, EVIL, "a", device_name=EVIL)
    farm.set("a", error=EVIL, cure=EVIL)
    farm.add("other", "b")
    farm.plan("b", "1")
    farm.frame_state("b", 1, TaskState.DONE, outputs=(farm.store(EVIL, b"x", "image/png", Role.OUTPUT),))
    for path in (
        "/",
        "/jobs/a",
        "/jobs/a/frames/1",
        "/jobs/b",
        "/farm",
        "/jobs/<script>alert(1)<x>",
        "/?show=" + EVIL,
    ):
        page = client.get(path).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "alert(2)>" not in page.replace("alert(2)&gt;", "")


def test_the_description_is_a_page_of_our_own(client: TestClient) -> None:
    page = client.get("/api/docs").text
    assert "/api/jobs/{job_id}/frames" in page
    assert 'id="schema-JobView"' in page
    assert not re.findall(r"(?:src|href)=\"https?:", page)


def test_everything_the_pages_load_is_served_by_us(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    found: set[str] = set()
    for path in ("/", "/jobs/a", "/farm", "/api/docs"):
        page = client.get(path).text
        assert not re.findall(r"\son\w+=|\sstyle=|<style", page)
        found |= set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
    checked: set[str] = set()
    while found - checked:
        path = (found - checked).pop()
        checked.add(path)
        answer = client.get(path)
        assert answer.status_code == 200, path
        if path.endswith(".js"):
            found |= {f"/static/js/{name}" for name in re.findall(r'from "\./([^"]+)"', answer.text)}
    assert {"/static/js/morph.js", "/static/js/frames.js", "/static/job.css"} <= checked


def test_a_frame_that_begins_anew_says_why_beside_its_tiles(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    why = "No worker is left with that class."
    farm.frame_state("a", 2, TaskState.WAITING, error=why)
    assert why in text(client.get("/jobs/a/frames/2").text)
    farm.frame_state("a", 2, TaskState.RUNNING, error="")
    assert why not in text(client.get("/jobs/a/frames/2").text)
