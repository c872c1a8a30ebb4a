"""A job followed to its end: a real server, a farm in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from addon import words
from addon.shown import Phase, Shown
from addon.work import Work
from farm.domain import telling
from farm.domain.control import Control
from farm.domain.costs import Span
from farm.domain.errors import Unavailable
from farm.domain.scene import Finding, Weight
from farm.domain.states import JobState
from farm.domain.task import TaskKey, TaskKind
from tests.integration.web.serving import serving
from tests.unit.web.fake_farm import FakeFarm, report

type Follow = Callable[..., Work]


@pytest.fixture
def farm() -> FakeFarm:
    fake = FakeFarm()
    fake.add("shot", "job1")
    return fake


@pytest.fixture
def follow(farm: FakeFarm, tmp_path: Path) -> Iterator[Follow]:
    works: list[Work] = []
    with serving(farm) as url:

        def start() -> Work:
            before = Shown("shot", phase=Phase.WAITING, job_id="job1")
            works.append(Work(url, "", {"name": "shot"}, str(tmp_path), before=before))
            works[-1].start()
            return works[-1]

        yield start
        for work in works:
            work.let_go(10)
            assert not work.shown.working


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def folder(work: Work) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(work.shown.folder).iterdir()}


def test_frames_come_as_they_finish_and_movies_at_the_end(farm: FakeFarm, follow: Follow) -> None:
    found = Finding(code="x", weight=Weight.WARNING, what="No light.", cure="Add one.")
    farm.plan("job1", "1-3", scene=report(findings=(found,)), reason="3 frames: whole")
    farm.finish("job1", 2, b"two")
    work = follow()
    until(lambda: len(work.shown.pictures) == 1)
    assert work.shown.words == "Rendering, 1 of 3 frames"
    assert folder(work) == {"shot_0002.png": b"two"}
    [told] = work.shown.findings
    assert (told.weight, told.what, told.cure) == ("warning", "No light.", "Add one.")
    assert work.shown.plan == "3 frames: whole"
    farm.finish("job1", 1, b"one")
    farm.finish("job1", 3, b"three")
    farm.film("job1", "shot.mp4", b"movie")
    farm.end("job1", JobState.DONE)
    work.wait(30)
    assert (work.shown.phase, work.shown.words) == (Phase.DONE, "Done, 3 of 3 frames")
    assert folder(work) == {
        "shot_0001.png": b"one",
        "shot_0002.png": b"two",
        "shot_0003.png": b"three",
        "shot.mp4": b"movie",
    }
    assert len(work.shown.pictures) == 3  # a movie is no picture to be opened


def test_a_file_that_is_there_stays(farm: FakeFarm, follow: Follow, tmp_path: Path) -> None:
    mine = tmp_path / "shot job1" / "shot_0001.png"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    farm.plan("job1", "1")
    farm.finish("job1", 1, b"one")
    farm.end("job1", JobState.DONE)
    work = follow()
    work.wait(30)
    assert (work.shown.phase, work.shown.kept, mine.read_bytes()) == (Phase.DONE, 1, b"mine")


def test_a_damaged_file_is_not_kept_and_the_job_can_be_gone_on_with(farm: FakeFarm, follow: Follow) -> None:
    farm.plan("job1", "1-2")
    farm.finish("job1", 1, b"one")
    farm.finish("job1", 2, b"two")
    [(number, output)] = [(n, one) for n, (one, _) in farm.stored.items() if one.name == "shot_0002.png"]
    farm.stored[number] = (output, b"tvo")
    farm.end("job1", JobState.DONE)
    work = follow()
    work.wait(30)
    assert (work.shown.phase, work.shown.working, work.shown.gave_up) == (Phase.FAILED, False, True)
    assert work.shown.what.startswith("“shot_0002.png” arrived damaged")
    assert "Go On" in work.shown.cure
    assert folder(work) == {"shot_0001.png": b"one"}
    farm.stored[number] = (output, b"two")
    again = work.again()
    again.start()
    again.wait(30)
    assert (again.shown.phase, again.shown.what) == (Phase.DONE, "")
    assert folder(again) == {"shot_0001.png": b"one", "shot_0002.png": b"two"}
    assert len(again.shown.pictures) == 2


def test_a_part_of_the_farm_that_is_away_is_waited_for(farm: FakeFarm, follow: Follow) -> None:
    farm.plan("job1", "1")
    farm.storage_trouble = Unavailable("Storage is away.")
    farm.finish("job1", 1, b"one")
    work = follow()
    until(lambda: work.shown.waiting == "Storage is away. Trying again.")
    farm.storage_trouble = None
    farm.end("job1", JobState.DONE)
    work.wait(30)
    assert (work.shown.phase, work.shown.waiting, folder(work)) == (Phase.DONE, "", {"shot_0001.png": b"one"})


def test_an_attempt_that_failed_is_told_while_the_job_goes_on(farm: FakeFarm, follow: Follow) -> None:
    farm.plan("job1", "1")
    farm.fail_attempt("job1", TaskKey("job1", TaskKind.FRAME, 1), "It ran out of memory.", "Sent to another.")
    work = follow()
    until(lambda: work.shown.news == "It ran out of memory. Sent to another.")
    farm.finish("job1", 1, b"one")
    farm.end("job1", JobState.DONE)
    work.wait(30)
    assert work.shown.phase is Phase.DONE


def test_why_nothing_goes_on_is_shown_and_time_left_as_a_range(farm: FakeFarm, follow: Follow) -> None:
    farm.plan("job1", "1-3")
    farm.set("job1", left=Span(low=240, likely=300, high=360))
    work = follow()
    until(lambda: work.shown.words == "Rendering, 0 of 3 frames, 4–6 min left")
    farm.set("job1", control=Control(paused=True))
    until(lambda: work.shown.paused)
    assert work.shown.standing == "Paused; it is resumed on its page."
    assert work.shown.words == "Rendering, 0 of 3 frames"
    farm.set("job1", control=Control(), waits="No worker is here.")
    until(lambda: work.shown.standing == "No worker is here.")
    farm.end("job1", JobState.DONE)
    until(lambda: work.shown.phase is Phase.DONE)
    assert (work.shown.standing, work.shown.left) == ("", None)


@pytest.mark.parametrize(
    ("low", "high"),
    [(1, 4), (18, 34), (38, 41), (80, 100), (240, 360), (1500, 2600), (5000, 7200), (3 * 86400, 5 * 86400)],
)
def test_ranges_read_as_on_the_farms_page(low: float, high: float) -> None:
    assert words.within(low, high) == telling.within(Span(low=low, likely=low, high=high))


def test_a_cancel_goes_to_the_farm(farm: FakeFarm, follow: Follow) -> None:
    farm.plan("job1", "1-2")
    work = follow()
    until(lambda: work.shown.plan)
    work.cancel()
    assert work.shown.words == "Stopping"
    until(lambda: farm.job(None, "job1").cancelling)  # type: ignore[arg-type]
    farm.end("job1", JobState.CANCELLED)
    work.wait(30)
    assert work.shown.phase is Phase.CANCELLED


def test_why_a_job_failed_is_told(farm: FakeFarm, follow: Follow) -> None:
    farm.end("job1", JobState.FAILED, "The scene has no camera.", "Add one.")
    work = follow()
    work.wait(30)
    assert (work.shown.phase, work.shown.what, work.shown.cure) == (
        Phase.FAILED,
        "The scene has no camera.",
        "Add one.",
    )
    assert not work.shown.gave_up  # there is nothing to go on with
