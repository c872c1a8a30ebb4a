"""Whose turn it is: priority, fair share, limits, needs, pause, start, and who has it loaded already."""

from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.domain.control import Control, Needs
from farm.domain.costs import Costs
from farm.domain.frames import FrameRange
from farm.domain.states import JobState
from farm.domain.task import TaskKey, TaskKind
from tests.unit.dispatch.play import SSE, TURN, Play, worker


def begun(play: Play, job_id: str, control: Control = TURN, owner: str = "ann", **settings: object) -> None:
    """A job that is inspected already, by a worker that takes nothing else of any job."""
    others = {name: play.controls[name] for name in play.core.state.jobs}
    for name, other in others.items():
        play.tell(told.ControlAsked(name, other.model_copy(update={"paused": True})))
    play.join(worker("inspector"))
    play.submit(job_id, control, owner, **({"frames": "1-50", "tiles": "none"} | settings))
    play.tell(told.WorkerAway("inspector", "enough"))
    [inspect] = play.orders(TaskKind.INSPECT)
    play.succeed(inspect)
    play.lose("inspector")
    play.now += 1
    for name, other in others.items():
        play.tell(told.ControlAsked(name, other))


def staff(play: Play, *names: str) -> None:
    play.join(*(worker(name) for name in names))


def at_work(play: Play) -> dict[str, list[str]]:
    """Who is at which job."""
    found: dict[str, list[str]] = {}
    for order in play.orders():
        job_id = TaskKey.parse(order.task).job_id
        found.setdefault(job_id, []).append(play.where[order.attempt_id])
    return {job_id: sorted(names) for job_id, names in found.items()}


def go_on(play: Play, steps: int) -> None:
    for _ in range(steps):
        play.succeed(play.orders()[0])


def test_a_higher_priority_has_all_workers_as_they_get_free() -> None:
    play = Play()
    begun(play, "j1")
    begun(play, "j2", Control(priority=60))
    staff(play, "w1", "w2")
    assert at_work(play) == {"j2": ["w1", "w2"]}


def test_a_priority_that_is_raised_while_the_job_runs_counts_at_once() -> None:
    play = Play()
    begun(play, "j1")
    begun(play, "j2")
    staff(play, "w1", "w2")
    assert at_work(play) == {"j1": ["w1", "w2"]}
    play.tell(told.ControlAsked("j2", Control(priority=51)))
    assert play.controls["j2"].priority == 51
    assert at_work(play) == {"j1": ["w1", "w2"]}  # what runs goes on
    go_on(play, 2)
    assert at_work(play) == {"j2": ["w1", "w2"]}


def test_users_share_the_workers_whatever_the_number_of_their_jobs() -> None:
    play = Play()
    for number in range(1, 4):
        begun(play, f"a{number}", owner="ann")
    begun(play, "b1", owner="bob")
    staff(play, "w1", "w2", "w3", "w4")
    assert {job: len(names) for job, names in at_work(play).items()} == {"a1": 2, "b1": 2}


def test_of_users_with_equal_shares_the_one_is_served_who_waited_longer() -> None:
    play = Play()
    begun(play, "j1", owner="ann")
    begun(play, "j2", owner="bob")
    staff(play, "w1")
    served = []
    for _ in range(6):
        [order] = play.orders()
        served.append(TaskKey.parse(order.task).job_id)
        play.succeed(order)
    assert served == ["j1", "j2"] * 3


def test_a_job_has_no_more_workers_than_it_may_have() -> None:
    play = Play()
    begun(play, "j1", Control(workers=2, order="turn"))
    staff(play, "w1", "w2", "w3")
    assert at_work(play) == {"j1": ["w1", "w2"]}
    play.tell(told.ControlAsked("j1", Control(order="turn")))
    assert at_work(play) == {"j1": ["w1", "w2", "w3"]}


def test_the_limit_of_a_user_counts_over_all_of_their_jobs() -> None:
    play = Play()
    play.tell(told.LimitsChanged({"ann": 2}))
    begun(play, "j1", Control(workers=1), "ann")
    begun(play, "j2", owner="ann")
    begun(play, "j3", owner="bob")
    staff(play, "w1", "w2", "w3", "w4")
    assert {job: len(names) for job, names in at_work(play).items()} == {"j1": 1, "j2": 1, "j3": 2}
    play.tell(told.LimitsChanged({}))
    go_on(play, 4)
    assert {job: len(names) for job, names in at_work(play).items()} == {"j1": 1, "j2": 1, "j3": 2}


def test_of_a_paused_job_what_runs_goes_on_and_nothing_is_begun() -> None:
    play = Play()
    begun(play, "j1", tiles="2x1", frames="1")
    staff(play, "w1", "w2")
    play.tell(told.ControlAsked("j1", Control(paused=True)))
    go_on(play, 2)
    assert not play.sent  # not even its finish
    play.tell(told.ControlAsked("j1", Control()))
    assert [order.kind for order in play.orders()] == [TaskKind.FINISH]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_job_begins_when_its_time_has_come() -> None:
    play = Play()
    staff(play, "w1")
    play.submit("j1", Control(start=play.now + 100))
    play.now += 99.9
    play.assign()
    assert not play.sent
    play.now += 0.1
    play.assign()
    assert [order.task for order in play.orders()] == ["j1/inspect"]


def test_only_workers_with_the_memory_and_all_tags_render_and_any_inspects_and_finishes() -> None:
    play = Play()
    play.join(worker("w1"))
    needs = Needs(memory=48, tags=("rtx", "linux"))
    play.submit("j1", Control(needs=needs), frames="1", tiles="2x1")
    play.succeed(play.orders()[0])
    assert not play.sent
    play.join(worker("small", memory=47, tags=("linux", "rtx")), worker("bare", memory=48, tags=("rtx",)))
    assert not play.sent
    play.join(worker("gpu", "OPTIX", SSE, memory=100, gpu_memory=47, tags=("linux", "rtx")))
    assert not play.sent
    play.join(worker("good", memory=48, tags=("studio-b", "linux", "rtx")))
    for _ in range(2):
        [order] = play.orders()
        assert (order.kind, play.where[order.attempt_id]) == (TaskKind.TILE, "good")
        play.succeed(order)
    [finish] = play.orders(TaskKind.FINISH)
    assert play.where[finish.attempt_id] == "w1"  # its memory is not asked for


def test_a_worker_that_is_away_is_given_nothing_and_ends_what_it_has() -> None:
    play = Play()
    begun(play, "j1")
    staff(play, "w1", "w2")
    play.tell(told.WorkerAway("w1", "lent from 19:00 to 8:00"))
    assert at_work(play) == {"j1": ["w1", "w2"]}
    go_on(play, 2)
    assert at_work(play) == {"j1": ["w2"]}
    play.tell(told.WorkerAway("w1", ""))
    assert at_work(play) == {"j1": ["w1", "w2"]}


def test_a_frame_that_is_loaded_goes_before_one_that_comes_first() -> None:
    play = Play()
    begun(play, "j1", tiles="3x1", frames="1-2")
    staff(play, "w1", "w2")
    while "w2" not in {play.where[o.attempt_id] for o in play.orders() if o.task.startswith("j1/2")}:
        play.succeed(next(o for o in play.orders() if play.where[o.attempt_id] == "w2"))
    [mine] = [order for order in play.orders() if play.where[order.attempt_id] == "w2"]
    [other] = [order for order in play.orders() if play.where[order.attempt_id] == "w1"]
    assert (other.task, mine.task) == ("j1/1/tile-0", "j1/2/tile-0")
    play.tell(told.RequeueAsked("j1", FrameRange.parse("1")))  # its pieces wait anew, and come first …
    play.succeed(mine)
    [again] = [order for order in play.orders() if play.where[order.attempt_id] == "w2"]
    assert again.task == "j1/2/tile-1"  # … but not for who has the second frame loaded


def test_a_job_is_given_the_worker_that_has_its_scene() -> None:
    play = Play()
    staff(play, "w1", "w2")
    play.submit("j1", frames="1", tiles="none")
    [inspect] = play.orders()
    assert play.where[inspect.attempt_id] == "w1"
    play.succeed(inspect)
    [frame] = play.orders()
    assert play.where[frame.attempt_id] == "w1"  # its process is still warm


def test_workers_that_come_anew_leave_a_job_that_is_nearly_begun_to_those_who_have_its_scene() -> None:
    play = Play()
    begun(play, "j1", frames="1-4")
    begun(play, "j2", frames="1-9")
    play.core.state.jobs["j1"].costs = Costs(seen=1, load=10, render=10)
    staff(play, "w1", "w2")
    assert at_work(play) == {"j1": ["w1"], "j2": ["w2"]}  # 30 s are left, and 10 s to be paid for them
    play.tell(told.ControlAsked("j2", Control(paused=True)))
    staff(play, "w3")
    assert at_work(play) == {"j1": ["w1", "w3"], "j2": ["w2"]}  # but nobody idles for that


@pytest.mark.parametrize(
    ("order", "frames"),
    [("turn", [1, 2, 3, 4, 5]), ("preview", [1, 5, 3, 2, 4]), ("every:2", [1, 3, 5, 2, 4])],
)
def test_frames_are_begun_in_the_order_that_was_asked_for(order: str, frames: list[int]) -> None:
    play = Play()
    begun(play, "j1", Control(order=order), frames="1-5")
    staff(play, "w1")
    assert play.plans["j1"].order == order
    done = []
    while play.sent:
        [one] = play.orders()
        done.append(TaskKey.parse(one.task).frame)
        play.succeed(one)
    assert done == frames


def test_what_is_told_of_a_job_that_has_ended_changes_nothing() -> None:
    play = Play()
    for event in (told.ControlAsked("j9", Control()), told.RequeueAsked("j9"), told.WorkerAway("w9", "x")):
        assert play.core.handle(event, play.now) == []
