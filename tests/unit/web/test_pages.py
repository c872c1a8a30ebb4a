"""The pages, as the server renders them."""

from __future__ import annotations

import re
import time

import pytest
from fastapi.testclient import TestClient

from farm.domain.control import Control, Needs
from farm.domain.costs import Costs, Span
from farm.domain.errors import Unavailable
from farm.domain.job import RenderSettings
from farm.domain.plan import SampleRange, Video
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.views import AttemptView, FailedWorker
from farm.domain.work import Progress, Proof, Role, Row
from tests.unit.web.fake_farm import CLASS, FakeFarm, finding, report

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
    farm.set("a", left=Span(low=80, likely=100, high=130))
    page = client.get("/").text
    row = text(page[page.index('id="job-a"') : page.index("</li>", page.index('id="job-a"'))])
    for words in ("shot", "local", "Rendering", "1 / 4", "1–2 min left", "just now"):
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
    # The preview shows the tile alone, whatever overlap was rendered: half a pixel more hides the seams.
    assert f'href="/api/outputs/{preview.id}" x="-0.5" y="-0.5" width="961" height="541"' in page
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


def test_what_was_lost_with_its_worker_is_not_called_a_failure(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    farm.fail_attempt("a", TaskKey("a", TaskKind.FRAME, 1), "Its owner is back.", state=AttemptState.LOST)
    page = client.get("/jobs/a").text
    assert '<h2 class="quiet">1 attempt lost</h2>' in page
    farm.fail_attempt("a", TaskKey("a", TaskKind.FRAME, 2), "It crashed.")
    assert "<h2>2 attempts failed or lost</h2>" in client.get("/jobs/a").text


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
    assert 'id="cancel-a"' not in page


def test_cancel_is_offered_until_it_is_asked_for(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    assert 'id="cancel-a"' in client.get("/jobs/a").text
    client.post("/api/jobs/a/cancel")
    page = client.get("/jobs/a").text
    assert 'id="cancel-a"' not in page
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


# --- what can be done, and why a job stands still ---


def in_list(page: str, job_id: str) -> str:
    start = page.index(f'id="job-{job_id}"')
    return page[start : page.index("</li>", start)]


def offered(page: str) -> set[str]:
    """What the buttons of a page would do."""
    found = set(re.findall(r'data-do="(\w+)"', page))
    if "change" in found:
        found = found - {"change"} | {"pause" if '{"paused": true}' in page else "resume"}
    return found


@pytest.mark.parametrize("where", ["row", "page"])
def test_only_what_the_farm_would_do_is_offered(client: TestClient, farm: FakeFarm, where: str) -> None:
    rendering(farm)

    def shown() -> str:
        return in_list(client.get("/").text, "a") if where == "row" else client.get("/jobs/a").text

    assert offered(shown()) == {"pause", "cancel"}
    farm.frame_state("a", 2, TaskState.FAILED)
    assert offered(shown()) == {"pause", "cancel", "retry"}
    farm.set("a", control=Control(paused=True))
    assert offered(shown()) == {"resume", "cancel", "retry"}
    assert 'data-priority data-job="a"' in shown()
    farm.set("a", cancelling=True)
    assert offered(shown()) == set()
    farm.end("a", JobState.FAILED, "It broke.")
    farm.set("a", cancelling=False)
    assert offered(shown()) == {"retry"}
    assert "data-priority" not in shown()
    farm.end("a", JobState.DONE)
    assert offered(shown()) == set()


def test_a_paused_job_says_so_in_place_of_its_state(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    farm.set("a", control=Control(paused=True), waits="It is paused. Let it go on with: farm resume a")
    for page in (in_list(client.get("/").text, "a"), client.get("/jobs/a").text):
        assert 'href="#i-paused"' in page
        assert "Paused" in page
        assert "Let it go on" not in page


def test_what_a_job_waits_for_is_told_where_the_picture_will_be(client: TestClient, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.set("a", waits="It waits for job b.")
    assert "It waits for job b." in text(in_list(client.get("/").text, "a"))
    page = text(client.get("/jobs/a").text)
    assert page.count("It waits for job b.") == 2
    assert "Waiting for a worker" not in page


def test_time_left_is_a_range_with_its_exact_ends_on_hover(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    farm.set("a", left=Span(low=240, likely=300, high=360))
    for path in ("/", "/jobs/a"):
        page = client.get(path).text
        assert "4–6 min left" in page
        assert 'title="Nine times of ten between 240 and 360 s; likely 300 s"' in page


def test_wishes_costs_price_and_what_was_cut_again_stand_beside_the_picture(
    client: TestClient, farm: FakeFarm
) -> None:
    rendering(farm)
    page = client.get("/jobs/a").text
    assert "Turn and costs" not in page
    assert "Cut again" not in page
    farm.set(
        "a",
        control=Control(priority=80, needs=Needs(tags=("rtx",)), after=("b",)),
        costs=Costs(seen=4, sync=12, render=48, paid=0.42),
        price=Span(low=0.9, likely=1.0, high=1.1),
        recuts=[{"frame": 3, "time": 1.0, "why": "its worker is slow: cut in 4"}],
    )
    page = text(client.get("/jobs/a").text)
    for words in (
        "Priority 80",
        "Needs “rtx”",
        "After job b",
        "sync 12 s, render 48 s a frame",
        "0.42 so far, 0.90–1.10 in all",
        "Frame 3 its worker is slow: cut in 4",
    ):
        assert words in page
    assert "price 0.90–1.10" in text(in_list(client.get("/").text, "a"))


def test_moments_are_marked_for_the_browser_to_tell_them_in_its_zone(
    client: TestClient, farm: FakeFarm
) -> None:
    rendering(farm)
    marked = '<time datetime="2026-12-01T19:00Z" data-clock>2026-12-01 19:00 UTC</time>'
    control = Control(start=1_796_151_600.0)
    farm.set("a", state=JobState.WAITING, waits="<b> starts at 2026-12-01 19:00 UTC.", control=control)
    for page in (client.get("/jobs/a").text, client.get("/").text):
        assert f"&lt;b&gt; starts at {marked}." in page
    assert f"not before {marked}" in client.get("/jobs/a").text


# --- the farm ---


def test_workers_tell_tags_price_and_memory_and_why_they_get_nothing(
    client: TestClient, farm: FakeFarm
) -> None:
    farm.add_worker("node-1", "busy", price=3.5, gpu_memory=141 << 30, tags=("rtx", "linux"))
    farm.add_worker("node-2", "aside", why="3 tasks failed on it.")
    farm.add_worker("node-3", "away", why="lent from 19:00 to 8:00")
    page = client.get("/farm").text
    said = text(page)
    for words in ("141 GiB, 3.50 an hour", "Set aside", "3 tasks failed on it.", "Away", "lent from 19:00"):
        assert words in said
    assert re.findall(r'class="tag">(\w+)<', page) == ["rtx", "linux"]
    assert "3.50 an hour" in text(client.get("/").text)


def test_workers_that_cannot_start_are_shown_with_why(client: TestClient, farm: FakeFarm) -> None:
    farm.failed = [FailedWorker(worker_id="node-4", why="No Blender is here. Install <bpy>.", since=1.0)]
    said = text(client.get("/farm").text)
    assert "0 workers" in said
    assert "Cannot start node-4" in said
    assert "No Blender is here. Install &lt;bpy&gt;." in said
    assert "No workers" not in said


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


# --- proofs, movies, sample ranges, regions ---


def row(name: str, **found: object) -> Row:
    told: dict[str, object] = {"kind": "pass", "same": True, "pixels": 5000, "differing": 0, "largest": 0.0}
    return Row.model_validate(told | {"name": name} | found)


def proof(frame: int, *rows: Row, tolerance: float = 0.0) -> Proof:
    found = rows or (row("ViewLayer.Combined"),)
    return Proof(frame=frame, render_class=CLASS, rows=found, seconds=3.2, tolerance=tolerance)


def verified(farm: FakeFarm, *proofs: Proof, frames: str = "1-3") -> None:
    """Job ``a``, done in tiles, and job ``p``, which proved these frames of it."""
    rendering(farm, frames, grid="2x2")
    farm.end("a", JobState.DONE)
    farm.add("proof of shot", "p", proves="a")
    farm.plan("p", frames)
    for one in proofs:
        farm.prove("p", one)
    farm.end("p", JobState.DONE)


def test_without_a_verification_nothing_is_said_of_one(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm, grid="2x2")
    page = client.get("/jobs/a").text
    assert 'class="badge' not in page
    assert re.search(r'<section class="proof"[^>]* hidden>\s*</section>', page)


def test_a_proved_job_says_so_with_the_table_behind_it(client: TestClient, farm: FakeFarm) -> None:
    verified(farm, *(proof(frame) for frame in (1, 2, 3)))
    page = client.get("/jobs/a").text
    assert re.search(
        r'<a class="badge same" href="#proof">.*?Proved: 3 frames are the same, bit for bit</a>', page
    )
    said = text(page)
    assert "Frame 2 : 1 pass is the same, bit for bit" in said
    assert "Rendered whole in 3.2 s by Blender 5.2.3, CPU avx2, for job p" in said
    assert page.count('href="/jobs/p"') == 3
    assert not re.search(r'<details id="proof-\d" open', page)
    assert "1 of 3" not in said


def test_frames_that_differ_come_first_and_open_and_the_plan_promises_nothing_more(
    client: TestClient, farm: FakeFarm
) -> None:
    wrong = row("ViewLayer.Mist", same=False, differing=1204, largest=0.00048828125)
    verified(farm, proof(1), proof(2, row("ViewLayer.Depth"), wrong), proof(3))
    page = client.get("/jobs/a").text
    assert re.search(r'<a class="badge differs" href="#proof">.*?1 of 3 frames differs</a>', page)
    assert re.findall(r'<details id="proof-(\d)"( open)?', page) == [("2", " open"), ("1", ""), ("3", "")]
    table = text(page[page.index('class="wrong"') :])
    assert "pass ViewLayer.Mist 1 204 of 5 000 0.000488" in table
    assert "bit for bit" not in text(page[page.index('id="facts"') :])
    assert "--keep-exr" not in page


def test_a_difference_without_numbers_says_how_to_get_them(client: TestClient, farm: FakeFarm) -> None:
    verified(farm, proof(1, row("ViewLayer.Mist", same=False, differing=None, largest=None, note="a digest")))
    said = text(client.get("/jobs/a").text)
    assert "pass ViewLayer.Mist differs a digest" in said
    assert "Submit with --keep-exr to have the differences of passes in numbers." in said


def test_a_tolerance_is_named_in_place_of_bit_for_bit(client: TestClient, farm: FakeFarm) -> None:
    verified(farm, proof(1, tolerance=1e-5))
    assert "Proved: 1 frame is the same, within 1e-05" in text(client.get("/jobs/a").text)


def test_frames_of_which_passes_are_not_known_are_not_called_proved(
    client: TestClient, farm: FakeFarm
) -> None:
    unknown = row("ViewLayer.Combined", differing=None, largest=None, note="not compared")
    picture = row("shot_0001.png", kind="output")
    verified(farm, proof(1, unknown, picture, tolerance=1e-6), proof(2, row("ViewLayer.Depth"), picture))
    said = text(client.get("/jobs/a").text)
    assert "Compared: 2 frames look the same; not all passes are known" in said
    assert "Proved:" not in said


def test_a_pass_of_a_file_is_named_with_the_file(client: TestClient, farm: FakeFarm) -> None:
    wrong = row("passes_0001.exr", kind="output", part="ViewLayer.Mist", same=False, differing=3, largest=0.5)
    rest = row("passes_0001.exr", kind="output", note="34 other passes")
    verified(farm, proof(1, wrong, rest), frames="1")
    said = text(client.get("/jobs/a").text)
    assert "Frame 1 : 1 of 1 output differs" in said
    assert "output passes_0001.exr: ViewLayer.Mist 3 of 5 000 0.5" in said
    assert "output passes_0001.exr 0 0 34 other passes" in said


def test_a_frame_has_a_badge_of_its_own_also_where_many_were_verified(
    client: TestClient, farm: FakeFarm
) -> None:
    wrong = proof(70, row("ViewLayer.Mist", same=False, differing=1, largest=1.0))
    verified(farm, *(wrong if frame == 70 else proof(frame) for frame in range(1, 81)), frames="1-90")
    page = client.get("/jobs/a/frames/60").text
    assert re.search(r'<a class="badge same" href="#proof-60">.*?Proved</a>', page)
    assert len(re.findall(r'<details id="proof-', page)) == 51
    assert '<details id="proof-60"' in page
    assert "And 29 more frames: farm verify prints them all." in text(page)
    page = client.get("/jobs/a/frames/70").text
    assert re.search(r'<a class="badge differs" href="#proof-70">.*?Differs from the whole frame</a>', page)
    assert 'href="#proof-90"' not in client.get("/jobs/a/frames/90").text


def test_a_proof_says_what_it_proves_and_shows_its_table_in_place_of_pictures(
    client: TestClient, farm: FakeFarm
) -> None:
    verified(farm, proof(1), proof(2), proof(3))
    page = client.get("/jobs/p").text
    said = text(page)
    assert "Proof of job a Proved: 3 frames are the same, bit for bit." in said
    assert '<a href="/jobs/a">job a</a>' in page
    assert '<details id="proof-1"' in page
    assert 'class="stage' not in page
    assert "farm fetch" not in said
    assert 'data-total="0"' in page
    rows = client.get("/").text
    assert text(rows).count("3 proved") == 2
    assert 'dir="auto">proof of shot</a>' in rows


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, "Waiting for a worker of the kind that rendered the frames."),
        (JobState.CANCELLED, "Cancelled before any frame was compared."),
        (JobState.FAILED, "No worker is of that kind. Start one."),
        (JobState.DONE, "Its frames have been verified again since"),
    ],
)
def test_a_proof_without_a_result_says_why(
    client: TestClient, farm: FakeFarm, state: JobState | None, said: str
) -> None:
    verified(farm)
    farm.set("p", state=JobState.RENDERING, ended=None)
    if state is not None:
        told = ("No worker is of that kind.", "Start one.") if state is JobState.FAILED else ("", "")
        farm.end("p", state, *told)
    page = client.get("/jobs/p").text
    assert said in text(page[page.index('id="hero"') : page.index('id="film"')])


def test_a_movie_plays_in_the_page_where_browsers_can_and_is_there_to_be_saved(
    client: TestClient, farm: FakeFarm
) -> None:
    rendering(farm)
    page = client.get("/jobs/a").text
    assert re.search(r'<section class="movies"[^>]* hidden>', page)
    mp4 = farm.film("a", "out/shot.mp4", b"0" * 2000)
    mkv = farm.film("a", "shot.mkv", b"1", "video/x-matroska")
    answer = client.get("/jobs/a")
    assert re.findall(r'<video [^>]*controls preload="metadata" src="([^"]+)"', answer.text) == [
        f"/api/outputs/{mp4.id}"
    ]
    for movie, shown in ((mp4, "shot.mp4 2.0 kB"), (mkv, "shot.mkv 1 B")):
        assert f'href="/api/outputs/{movie.id}?download=true"' in answer.text
        assert shown in text(answer.text)
    assert "media-src 'self'" in answer.headers["content-security-policy"]


def test_a_movie_that_is_due_is_told(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm, "1-2", videos=[Video.SCENE])
    assert "Movie It is made once all frames are done." in text(client.get("/jobs/a").text)
    for frame in (1, 2):
        farm.finish("a", frame, b"p")
    assert "All frames are done; the movie is being made." in text(client.get("/jobs/a").text)
    farm.film("a", "shot.mp4", b"0")
    farm.end("a", JobState.DONE)
    assert "movie is being made" not in client.get("/jobs/a").text


def test_sample_ranges_are_told_and_never_drawn_as_boxes(client: TestClient, farm: FakeFarm) -> None:
    ranges = [SampleRange(first=first, count=128, total=512) for first in range(0, 512, 128)]
    rendering(farm, "7", ranges=ranges, taken=1)
    farm.frame_state("a", 7, TaskState.RUNNING)
    page = client.get("/jobs/a").text
    assert "0 of 4 sample ranges rendered" in text(page)
    farm.tile("a", 7, 1, TaskState.RUNNING, worker_id="node-1")
    farm.progress("a", 7, 34, 128, tile=1)
    preview = farm.store("p.jpg", b"p").id
    farm.tile("a", 7, 0, TaskState.DONE, preview=preview)
    page = client.get("/jobs/a").text
    ranges_told = text(page[page.index('class="ranges"') : page.index("</ol>", page.index('class="ranges"'))])
    for words in (
        "Samples 1–128 done",
        "Samples 129–256 34 of 128 samples on node-1",
        "Samples 385–512 waiting",
    ):
        assert words in ranges_told
    assert 'class="tile ' not in page
    assert page.count(f'href="/api/outputs/{preview}"') == 1
    assert "1 of 4 sample ranges" in text(page[page.index('id="jobtop"') :])
    assert "4 sample ranges 1 there already" in text(page)
    farm.finish("a", 7, b"whole")
    assert 'class="ranges"' not in client.get("/jobs/a").text


def test_tiles_of_a_region_lie_inside_of_it_in_a_frame_of_full_size(
    client: TestClient, farm: FakeFarm
) -> None:
    rendering(farm, "12", grid="2x1", region=(480, 135, 960, 540))
    page = client.get("/jobs/a").text
    assert 'viewBox="0 0 1920 1080"' in page
    assert '<rect class="region" x="480" y="135" width="960" height="540"/>' in page
    assert "Resolution 1920×1080" in text(page)
    assert "Region 960×540 from the scene" in text(page)


def test_where_the_region_alone_makes_the_picture_the_page_shows_no_more(
    client: TestClient, farm: FakeFarm
) -> None:
    rendering(farm, "12", grid="2x1", region=(480, 135, 960, 540), scene=report(crops=True))
    page = client.get("/jobs/a").text
    assert 'viewBox="480 135 960 540"' in page
    assert f'data-aspect="{960 / 540}"' in page


def test_what_makes_frames_depend_on_each_other_and_what_breaks_ranges_is_found(
    client: TestClient, farm: FakeFarm
) -> None:
    cloth = finding("unbaked-cloth", "warning", "The cloth is not baked.", "Bake it.")
    adaptive = finding("adaptive", "note", "Adaptive sampling looks around.")
    grease = finding("grease", "note", "Grease Pencil is drawn on the whole picture.")
    scene = report(in_order=(cloth,), breaks_ranges=(adaptive,), breaks_exactness=(grease,))
    rendering(farm, scene=scene)
    said = text(client.get("/jobs/a").text)
    assert "The cloth is not baked. Bake it." in said
    assert "Grease Pencil" in said
    assert "Adaptive sampling" not in said
    farm.add("more", "b", settings=RenderSettings(samples=512), adds_to="a")
    farm.set("b", report=scene)
    said = text(client.get("/jobs/b").text)
    assert "Adaptive sampling looks around." in said
    assert "Grease Pencil" not in said


def test_a_job_that_adds_samples_leads_to_the_one_that_kept_them(client: TestClient, farm: FakeFarm) -> None:
    rendering(farm)
    farm.add("shot", "b", settings=RenderSettings(samples=512, first=256), adds_to="a")
    farm.plan("b", "1")
    page = client.get("/jobs/b").text
    assert 'Adds to the samples of <a href="/jobs/a">job a</a>.' in page
    assert "the first 256 of 512" in text(page)
    assert "adds to a" in text(client.get("/").text)
