"""For what a job waits, in words, and that nothing is said where it is but its turn."""

from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.domain.control import Control, Needs
from farm.domain.work import WorkerInfo
from tests.unit.dispatch.play import Play, worker

GIB = 1 << 30


def waits(control: Control, *workers: WorkerInfo, inspected: bool = True, **settings: object) -> str:
    """For what the job waits once it is inspected."""
    play = Play()
    play.join(*workers)
    play.submit("j1", control, frames="1-3", tiles="none", **settings)
    if inspected:
        play.succeed(play.orders()[0])
    play.now += 1
    play.assign()
    return play.waits.get("j1", "")


def test_a_paused_job_says_how_it_goes_on() -> None:
    why = waits(Control(paused=True), worker("w1"), inspected=False)
    assert why == "It is paused. Let it go on with: farm resume j1"


def test_a_job_that_starts_later_says_when() -> None:
    why = waits(Control(start=1_796_151_600.0), worker("w1"), inspected=False)
    assert why == "It starts at 2026-12-01 19:00 UTC."


def test_without_any_worker_a_job_says_so() -> None:
    assert waits(Control(), inspected=False) == "No worker is here."


def test_workers_that_cannot_start_are_named_where_no_other_could_take_it() -> None:
    play = Play()
    play.submit("j1", Control(needs=Needs(tags=("rtx",))), frames="1-3", tiles="none")
    play.tell(told.WorkerFailed("w1", "FARM_WORKER_PRICE is “x”. Correct it."))
    assert play.waits["j1"] == "No worker is here. w1 cannot start: FARM_WORKER_PRICE is “x”. Correct it."
    play.join(worker("w2"))
    play.succeed(play.orders()[0])
    lacks = "No worker that could render it has the tag “rtx”."
    assert play.waits["j1"] == (
        f"{lacks} It may be for one that is not here: w1 cannot start: FARM_WORKER_PRICE is “x”. Correct it."
    )
    play.tell(told.WorkerFailed("w3", "No Blender."))
    assert play.waits["j1"].endswith("Correct it. (1 more cannot either.)")
    play.lose("w3")
    play.join(worker("w1"))
    assert play.waits["j1"] == lacks
    assert play.unstarted == {}


def test_one_that_cannot_start_is_nobody_s_reason_where_others_serve() -> None:
    play = Play()
    play.join(worker("w1"))
    play.tell(told.WorkerFailed("w2", "No Blender."))
    play.submit("j1", frames="1-3", tiles="none")
    assert play.waits.get("j1", "") == ""


@pytest.mark.parametrize(
    ("needs", "lacking"),
    [
        (Needs(memory=48 * GIB), "48 GiB of memory"),
        (Needs(tags=("rtx",)), "the tag “rtx”"),
        (Needs(tags=("rtx", "linux")), "all the tags “linux”, “rtx”"),
        (Needs(memory=16 * GIB, tags=("studio-b",)), "16 GiB of memory and the tag “studio-b”"),
        (Needs(memory=48 * GIB, tags=("studio-b",)), "48 GiB of memory"),
    ],
)
def test_what_no_worker_has_is_named(needs: Needs, lacking: str) -> None:
    workers = worker("w1", memory=16 * GIB), worker("w2", memory=2 * GIB, tags=("studio-b",))
    assert waits(Control(needs=needs), *workers) == f"No worker that could render it has {lacking}."


def test_a_gpu_job_whose_workers_have_all_left_says_so() -> None:
    play = Play()
    play.join(worker("w1"), worker("g1", device="OPTIX"))
    play.submit("j1", frames="1-3", tiles="none", device="optix")
    play.succeed(play.orders()[0])
    play.lose("g1")
    assert play.waits["j1"] == "No worker of this farm has a GPU for OptiX."
    play.join(worker("g1", device="OPTIX"))
    assert play.waits["j1"] == ""


def test_workers_that_are_away_are_named_with_their_reason() -> None:
    play = Play()
    play.join(*(worker(f"w{number}") for number in range(1, 6)))
    play.submit("j1", frames="1-9", tiles="none")
    play.succeed(play.orders()[0])
    for number in range(1, 6):
        play.tell(told.WorkerAway(f"w{number}", f"reason {number}"))
    play.finish_all()
    assert play.waits["j1"] == (
        "All workers that could take it are away or set aside: "
        "w1 (reason 1), w2 (reason 2), w3 (reason 3) and 2 more."
    )


def test_at_the_limit_of_its_user_a_job_says_so() -> None:
    play = Play()
    play.join(worker("w1"), worker("w2"))
    play.tell(told.LimitsChanged({"ann": 1}))
    play.submit("j1", frames="1-3", tiles="none")
    play.submit("j2", frames="1-3", tiles="none")
    assert play.waits["j2"] == "ann may have 1 worker at most, and other jobs of ann have them."
    play.tell(told.LimitsChanged({"ann": 3}))
    assert play.waits["j2"] == ""


def test_a_job_that_only_waits_for_its_turn_says_nothing() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit("j1", frames="1-3", tiles="none")
    play.submit("j2", frames="1-3", tiles="none")
    play.now += 5
    play.assign()
    assert play.waits == {}
