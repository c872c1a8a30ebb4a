"""The pages in a real browser: they follow the farm without being loaded again."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from farm.domain.control import ControlChange
from farm.domain.costs import Costs, Span
from farm.domain.events import EventKind
from farm.domain.job import LOCAL_OWNER
from farm.domain.states import JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Proof, Row
from tests.integration.web.serving import serving
from tests.unit.web import pictures
from tests.unit.web.fake_farm import CLASS, FakeFarm
from tests.unit.web.studio import MOVIE, recut

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PICTURE = pictures.render("marble", 3, 64, 36)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that must end without an error in its console; what the network does is not one."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(15_000)
    page = context.new_page()
    troubles: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            troubles.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    yield page
    context.close()
    assert troubles == []


@pytest.fixture
def farm() -> FakeFarm:
    return FakeFarm()


@pytest.fixture
def url(farm: FakeFarm) -> Iterator[str]:
    with serving(farm) as address:
        yield address


def mark(page: Page) -> None:
    """Remember this document, to tell whether it was loaded again."""
    page.evaluate("window.sameDocument = true")


def same_document(page: Page) -> bool:
    return bool(page.evaluate("window.sameDocument === true"))


def test_a_cut_frame_grows_on_the_page_as_its_tiles_come(page: Page, url: str, farm: FakeFarm) -> None:
    farm.add("poster", "a")
    page.goto(f"{url}/jobs/a")
    mark(page)
    expect(page.locator("#hero")).to_contain_text("Waiting for a worker")

    farm.plan("a", "7", grid="2x2", overlap=8)
    farm.frame_state("a", 7, TaskState.RUNNING)
    farm.tile("a", 7, 0, TaskState.RUNNING, worker_id="node-1")
    farm.progress("a", 7, 34, 128, tile=0)
    expect(page.locator("#tile-0 text").first).to_have_text("34 of 128 samples")

    preview = farm.store("tile.jpg", PICTURE)
    farm.tile("a", 7, 0, TaskState.DONE, preview=preview.id)
    expect(page.locator("#tile-0 image")).to_have_attribute("href", f"/api/outputs/{preview.id}")
    expect(page.locator("#jobtop")).to_contain_text("1 of 4 tiles")

    farm.finish("a", 7, PICTURE)
    expect(page.locator("#hero img")).to_be_visible()
    # Asked as a property: the page's own policy forbids what evaluates strings.
    expect(page.locator("#hero img")).to_have_js_property("naturalWidth", 64)
    farm.end("a", JobState.DONE)
    expect(page.locator("#jobtop")).to_contain_text("Done")
    expect(page.locator("#cancel-a")).to_have_count(0)
    assert same_document(page)


def test_the_page_follows_the_newest_frame_and_a_chosen_one_stays(
    page: Page, url: str, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-6")
    farm.finish("a", 1, PICTURE)
    page.goto(f"{url}/jobs/a")
    mark(page)
    expect(page.locator(".frameno")).to_have_text("Frame 1")
    farm.finish("a", 2, PICTURE)
    expect(page.locator(".frameno")).to_have_text("Frame 2")
    expect(page.locator(".cell[aria-selected=true] .no")).to_have_text("2")
    expect(page.locator("#cell-1 img")).to_have_count(1)

    page.keyboard.press("ArrowLeft")
    expect(page.locator(".frameno")).to_have_text("Frame 1")
    expect(page).to_have_url(f"{url}/jobs/a/frames/1")
    farm.finish("a", 3, PICTURE)
    expect(page.locator("#jobtop")).to_contain_text("3 of 6 frames")
    expect(page.locator(".frameno")).to_have_text("Frame 1")

    page.keyboard.press("l")
    expect(page.locator(".frameno")).to_have_text("Frame 3")
    expect(page).to_have_url(f"{url}/jobs/a")
    assert same_document(page)


def test_a_failed_attempt_appears_explained_and_an_open_log_stays_open(
    page: Page, url: str, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-6")
    page.goto(f"{url}/jobs/a")
    farm.fail_attempt(
        "a", TaskKey("a", TaskKind.FRAME, 1), "Blender crashed.", "Look here.", log_tail="segfault"
    )
    expect(page.locator("#failures")).to_contain_text("Blender crashed.")
    page.locator("#failures summary").click()
    expect(page.locator("#failures pre")).to_be_visible()
    farm.fail_attempt("a", TaskKey("a", TaskKind.FRAME, 2), "It hung.")
    expect(page.locator("#failures")).to_contain_text("2 attempts failed")
    expect(page.locator("#failures pre")).to_be_visible()


def test_cancelling_asks_in_place_first(page: Page, url: str, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-6")
    page.goto(f"{url}/jobs/a")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Keep rendering").click()
    assert not farm.all["a"].view.cancelling
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("#jobtop")).to_contain_text("Cancelling")
    assert farm.all["a"].view.cancelling


def test_a_job_is_paused_resumed_and_given_another_priority_from_its_page(
    page: Page, url: str, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-6")
    page.goto(f"{url}/jobs/a")
    mark(page)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#jobtop .state")).to_have_text("Paused")
    assert farm.all["a"].view.control.paused
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#jobtop .state")).to_have_text("Rendering")
    assert not farm.all["a"].view.control.paused

    field = page.get_by_role("spinbutton", name="Priority")
    field.fill("80")
    field.press("Enter")
    expect(page.locator("#facts")).to_contain_text("80")
    assert farm.all["a"].view.control.priority == 80
    field.fill("300")  # the browser says what is wrong, and nothing is sent
    field.press("Tab")
    expect(field).to_have_value("80")
    assert farm.all["a"].view.control.priority == 80
    farm.change(LOCAL_OWNER, "a", ControlChange(priority=30))  # somebody else does
    expect(field).to_have_value("30")
    assert same_document(page)


def test_a_job_is_controlled_from_its_row_without_leaving_the_list(
    page: Page, url: str, farm: FakeFarm
) -> None:
    for name in ("a", "b"):
        farm.add(f"shot {name}", name)
        farm.plan(name, "1-6")
    page.goto(url)
    mark(page)
    page.get_by_role("button", name="Pause shot a").click()
    expect(page.locator("#job-a")).to_contain_text("Paused")
    expect(page.locator("#job-b")).to_contain_text("Rendering")
    field = page.get_by_role("spinbutton", name="Priority of shot b")
    field.fill("80")
    field.press("Enter")
    expect(field).to_have_attribute("value", "80")
    page.get_by_role("button", name="Cancel shot b").click()
    page.get_by_role("button", name="Keep rendering").click()
    page.get_by_role("button", name="Cancel shot b").click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("#job-b")).to_contain_text("Cancelling")
    farm.end("a", JobState.FAILED, "It broke.")
    page.get_by_role("button", name="Retry shot a").click()
    expect(page.locator("#job-a")).not_to_contain_text("It broke.")
    assert farm.requeued == [("a", None)]
    assert same_document(page)


def test_what_the_farm_refuses_is_told_on_the_page(page: Page, url: str, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    page.goto(f"{url}/jobs/a")
    farm.all["a"].view = farm.all["a"].view.model_copy(update={"state": JobState.DONE})  # and no event yet
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("alert")).to_have_text("Job a is done already. Render it once more.")


def test_what_a_job_waits_for_and_costs_comes_and_goes_live(page: Page, url: str, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-6", grid="2x1")
    farm.frame_state("a", 1, TaskState.RUNNING)
    page.goto(f"{url}/jobs/a")
    mark(page)
    job = farm.all["a"]
    job.view = job.view.model_copy(update={"waits": "No worker is here."})
    farm.event(EventKind.JOB_WAITS, "a", why="No worker is here.")
    expect(page.locator("#jobtop .waits")).to_have_text("No worker is here.")
    costs, left = Costs(seen=2, sync=12, render=48), Span(low=240, likely=300, high=360)
    job.view = job.view.model_copy(update={"waits": "", "costs": costs, "left": left})
    farm.event(EventKind.JOB_COSTS, "a", costs=costs.model_dump(mode="json"))
    expect(page.locator("#jobtop")).to_contain_text("4–6 min left")
    expect(page.locator("#facts")).to_contain_text("sync 12 s, render 48 s a frame")
    expect(page.locator("#jobtop .waits")).to_have_count(0)

    recut(farm, "a", 1, of=1, grid="1x2", why="2 workers are free: cut in 2")
    expect(page.locator("#tile-3")).to_have_count(1)
    expect(page.locator("#tile-1")).to_have_count(0)
    assert same_document(page)


def test_jobs_appear_and_move_without_a_reload(page: Page, url: str, farm: FakeFarm) -> None:
    page.goto(url)
    mark(page)
    expect(page.locator("#jobs")).to_contain_text("Nothing to render yet")
    farm.add("<b>first</b>", "a")
    expect(page.locator("#job-a .name a")).to_have_text("<b>first</b>")
    farm.plan("a", "1-4")
    farm.finish("a", 1, PICTURE)
    expect(page.locator("#job-a .frames")).to_have_text(re.compile(r"1\s*/\s*4"))
    expect(page.locator("#job-a img")).to_have_count(1)
    farm.add("second", "b")
    expect(page.locator("li.job").first).to_have_attribute("id", "job-b")
    assert same_document(page)


def test_a_page_outlives_its_server(page: Page, farm: FakeFarm) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-4")
    with serving(farm) as url:
        page.goto(f"{url}/jobs/a")
        mark(page)
        expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#notice")).to_be_visible()
    farm.finish("a", 1, PICTURE)  # while nobody serves
    with serving(farm, int(url.rpartition(":")[2])):
        expect(page.locator("#jobtop")).to_contain_text("1 of 4 frames", timeout=20_000)
        expect(page.locator("#notice")).to_be_hidden()
        assert same_document(page)
        page.goto("about:blank")


def test_ten_thousand_frames_are_neither_fetched_nor_drawn_at_once(
    page: Page, url: str, farm: FakeFarm
) -> None:
    farm.add("long", "a")
    farm.plan("a", "1-10000")
    preview = farm.store("p.jpg", PICTURE).id
    for frame in range(1, 9001):
        farm.all["a"].frames[frame] = (
            farm.all["a"]
            .frames[frame]
            .model_copy(update={"state": TaskState.DONE, "seconds": 5.0 + frame % 7, "preview": preview})
        )
    asked: list[int] = []
    page.on(
        "request",
        lambda request: asked.extend(
            int(count) for count in re.findall(r"frames\?first=\d+&count=(\d+)", request.url)
        ),
    )
    page.goto(f"{url}/jobs/a")
    expect(page.locator(".frameno")).to_have_text("Frame 9000")
    expect(page.locator("#legend")).to_contain_text("11 s")
    assert page.locator(".cell").count() < 40
    page.wait_for_timeout(1500)
    assert max(asked) <= 241
    assert sum(asked) < 3000

    page.locator("#heat").evaluate("box => { box.scrollTop = box.scrollHeight }")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".frameno")).to_have_text("Frame 9001")
    box = page.locator("#heat canvas").bounding_box()
    assert box is not None
    assert box["height"] < 240


def test_a_proof_appears_on_the_job_and_on_its_own_page_as_frames_are_verified(
    page: Page, url: str, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-2", grid="2x2")
    for frame in (1, 2):
        farm.finish("a", frame, PICTURE)
    farm.end("a", JobState.DONE)
    page.goto(f"{url}/jobs/a")
    mark(page)
    expect(page.locator("#proof")).to_be_hidden()

    farm.add("proof of shot", "p", proves="a")
    farm.plan("p", "1-2")
    same = Row(kind="pass", name="ViewLayer.Depth", same=True, pixels=4, differing=0, largest=0.0)
    farm.prove("p", Proof(frame=1, render_class=CLASS, rows=(same,), seconds=1.0))
    expect(page.locator("#jobtop .badge")).to_have_text("Proved: 1 frame is the same, bit for bit")
    differs = same.model_copy(update={"same": False, "differing": 2, "largest": 0.5})
    farm.prove("p", Proof(frame=2, render_class=CLASS, rows=(differs,), seconds=1.0))
    expect(page.locator("#jobtop .badge")).to_have_text("1 of 2 frames differs")
    expect(page.locator("#hero .badge")).to_have_text("Differs from the whole frame")
    expect(page.locator("#proof-2 .wrong")).to_be_visible()
    page.locator("#proof-1 summary").click()  # it was alone, and open
    expect(page.locator("#proof-1 table")).to_be_hidden()
    assert same_document(page)

    page.goto(f"{url}/jobs/p")
    expect(page.locator("#hero")).to_contain_text("2 of 2 frames compared so far, 1 of them differs.")
    farm.end("p", JobState.DONE)
    expect(page.locator("#hero")).to_contain_text("1 of 2 frames differs.")
    expect(page.locator("#film")).to_be_hidden()


def test_a_movie_plays_and_seeks_where_it_lies_and_live_news_do_not_disturb_it(
    page: Page, url: str, farm: FakeFarm
) -> None:
    farm.add("shot", "a")
    farm.plan("a", "1-24")
    parts: list[int] = []
    page.on("response", lambda answer: parts.append(answer.status) if "/outputs/" in answer.url else None)
    page.goto(f"{url}/jobs/a")
    movie = farm.film("a", "shot.mp4", MOVIE.read_bytes())
    video = page.locator(f"#video-{movie.id}")
    expect(video).to_have_js_property("duration", 2)
    expect(video).to_have_js_property("videoWidth", 64)
    video.evaluate("video => { video.currentTime = 1.5 }")
    expect(video).to_have_js_property("currentTime", 1.5)
    expect(video).to_have_js_property("seeking", False)
    assert 206 in parts
    farm.end("a", JobState.DONE)
    expect(page.locator("#jobtop")).to_contain_text("Done")
    expect(video).to_have_js_property("currentTime", 1.5)


def test_the_farm_page_follows_its_workers(page: Page, url: str, farm: FakeFarm) -> None:
    page.goto(f"{url}/farm")
    expect(page.locator("#workers")).to_contain_text("No workers")
    farm.add_worker("node-1")
    expect(page.locator("#workers")).to_contain_text("node-1")


@pytest.mark.parametrize("path", ["/", "/jobs/a", "/farm", "/api/docs", "/nothing"])
def test_a_phone_needs_no_sideways_scrolling(page: Page, url: str, farm: FakeFarm, path: str) -> None:
    farm.add("a_very_long_name_without_a_single_space_in_it_" * 3, "a")
    farm.plan("a", "1-400")
    farm.finish("a", 1, PICTURE)
    farm.add_worker("a-very-long-host-name-of-a-render-node.studio.example")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(url + path)
    page.wait_for_timeout(400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
