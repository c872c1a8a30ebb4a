"""Jobs that come after others: as a whole, frame by frame, in circles, after what failed."""

from __future__ import annotations

from farm.dispatch import events as told
from farm.domain.control import Control
from farm.domain.states import JobState, TaskState
from farm.domain.task import TaskKind
from tests.unit.dispatch.play import Play, worker
from tests.unit.dispatch.rebirth import restart, retry

NAMES = ("w1", "w2", "w3")


def farm() -> Play:
    play = Play()
    play.join(*(worker(name) for name in NAMES))
    return play


def after(*others: str, frame_wise: bool = False) -> Control:
    return Control(after=others, frame_wise=frame_wise, order="turn")


def begin(play: Play, job_id: str, frames: str, control: Control | None = None) -> None:
    play.submit(job_id, control or Control(order="turn"), frames=frames, tiles="none")
    for order in play.orders(TaskKind.INSPECT):
        play.succeed(order)


def tasks(play: Play) -> list[str]:
    return sorted(order.task for order in play.orders())


def of(play: Play, task: str) -> None:
    [order] = [order for order in play.orders() if order.task == task]
    play.succeed(order)


def test_a_job_begins_when_the_one_before_it_is_done() -> None:
    play = farm()
    begin(play, "j1", "1-2")
    begin(play, "j2", "1", after("j1"))
    assert tasks(play) == ["j1/1/whole", "j1/2/whole"]
    assert play.waits["j2"] == "It waits for job j1."
    of(play, "j1/1/whole")
    assert tasks(play) == ["j1/2/whole"]
    of(play, "j1/2/whole")
    assert tasks(play) == ["j2/inspect"]
    assert play.waits["j2"] == ""
    play.finish_all()
    assert play.jobs["j2"].state is JobState.DONE
    assert play.core.state.ended == {}


def test_frame_by_frame_each_frame_begins_when_the_others_is_done() -> None:
    play = farm()
    begin(play, "j1", "1-3")
    begin(play, "j2", "2-3", after("j1", frame_wise=True))
    assert tasks(play) == ["j1/1/whole", "j1/2/whole", "j1/3/whole"]
    of(play, "j1/3/whole")
    of(play, "j2/inspect")  # which waits for nothing
    assert tasks(play) == ["j1/1/whole", "j1/2/whole", "j2/3/whole"]  # though frame 2 comes first
    of(play, "j2/3/whole")
    play.now += 1
    play.assign()
    assert tasks(play) == ["j1/1/whole", "j1/2/whole"]
    assert play.waits["j2"] == "It waits for frame 2 of job j1."
    of(play, "j1/2/whole")
    assert tasks(play) == ["j1/1/whole", "j2/2/whole"]


def test_frame_by_frame_what_the_other_job_does_not_have_begins_at_once() -> None:
    play = farm()
    begin(play, "j1", "1-3")
    begin(play, "j2", "3-5", after("j1", frame_wise=True))
    of(play, "j1/1/whole")
    of(play, "j2/inspect")
    assert tasks(play) == ["j1/2/whole", "j1/3/whole", "j2/4/whole"]


def test_after_one_that_failed_a_job_waits_and_says_how_to_go_on() -> None:
    play = Play()
    play.join(worker("w1"))
    begin(play, "j1", "1-2")
    begin(play, "j2", "1-2", after("j1", frame_wise=True))
    of(play, "j1/1/whole")
    for _ in range(3):
        play.fail(play.orders()[0])
    assert play.jobs["j1"].state is JobState.FAILED
    of(play, "j2/inspect")
    of(play, "j2/1/whole")
    assert not play.sent
    play.now += 1
    play.assign()
    assert play.waits["j2"] == (
        "It waits for frame 2 of job j1, which failed. Have it done with: farm retry j1"
    )
    restart(play, ["w1"])
    play.assign()
    assert not play.sent
    retry(play, "j1")
    assert tasks(play) == ["j1/2/whole"]
    of(play, "j1/2/whole")
    assert tasks(play) == ["j2/2/whole"]
    play.finish_all()
    assert {change.state for change in play.jobs.values()} == {JobState.DONE}


def test_after_one_that_was_cancelled_before_it_was_planned_nothing_begins() -> None:
    play = farm()
    play.submit("j1", frames="1")
    begin(play, "j2", "1", after("j1", frame_wise=True))
    play.tell(told.CancelAsked("j1"))
    play.now += 1
    play.assign()
    assert "frame 1 of job j1, which was cancelled" in play.waits["j2"]
    assert [order for order in play.orders() if order.kind is not TaskKind.INSPECT] == []


def test_jobs_in_a_circle_wait_and_say_so_and_hold_nobody_else_up() -> None:
    play = farm()
    play.submit("j1", after("j2"), frames="1")
    play.submit("j2", after("j1"), frames="1")
    begin(play, "j3", "1")
    play.finish_all()
    assert play.jobs["j3"].state is JobState.DONE
    assert play.waits["j1"] == (
        "It waits for job j2, which waits for this job in turn, so that neither can begin. "
        "Change what one of them comes after."
    )
    play.tell(told.ControlAsked("j1", Control()))
    play.finish_all()
    assert {change.state for change in play.jobs.values()} == {JobState.DONE}


def test_what_comes_after_a_job_of_a_million_frames_keeps_no_list_of_them() -> None:
    play = farm()
    begin(play, "j1", "1-1000000")
    begin(play, "j2", "999999", after("j1", frame_wise=True))
    of(play, "j1/1/whole")
    play.tell(told.CancelAsked("j1"))
    left = play.core.state.ended["j1"]
    assert [number in left.missing for number in (1, 2, 3, 999_999, 1_000_001)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert not hasattr(left.missing, "__len__")


def test_frame_by_frame_one_that_failed_holds_up_no_other() -> None:
    play = farm()
    begin(play, "a", "1-6")
    begin(play, "b", "1-6", after("a", frame_wise=True))
    while play.sent:
        for order in play.orders():
            if order.task == "a/2/whole":
                play.fail(order)
            else:
                play.succeed(order)
    assert play.jobs["a"].state is JobState.FAILED
    done = {number for number in range(1, 7) if play.rows["b", number] is TaskState.DONE}
    assert done == {1, 3, 4, 5, 6}
    assert play.waits["b"] == ("It waits for frame 2 of job a, which failed. Have it done with: farm retry a")
    restart(play, NAMES)
    retry(play, "a")
    play.finish_all()
    assert (play.jobs["a"].state, play.jobs["b"].state) == (JobState.DONE, JobState.DONE)


def test_frame_by_frame_in_another_order_what_is_there_is_begun() -> None:
    play = farm()
    begin(play, "a", "1-100")
    preview = Control(after=("a",), frame_wise=True, order="preview", priority=60)
    begin(play, "b", "1-100", preview)
    for _ in range(40):
        play.succeed(play.orders()[0])
    done = {n for (of_job, n), state in play.rows.items() if of_job == "b" and state is TaskState.DONE}
    assert len(done) > 5
    assert play.rows["b", 100] is TaskState.WAITING
    play.finish_all()
    assert play.jobs["b"].state is JobState.DONE


def test_of_frames_that_wait_for_another_job_few_are_opened() -> None:
    play = farm()
    begin(play, "a", "1-1000000")
    begin(play, "b", "1-1000000", Control(after=("a",), frame_wise=True, order="preview"))
    assert "b" not in {job_id for job_id, _ in play.rows}, "nothing of it is there yet"
    for order in play.orders()[:2]:
        play.succeed(order)
    assert {n for job_id, n in play.rows if job_id == "b"} <= {1, 2, 500_001, 1_000_000}
    play.tell(told.ControlAsked("a", Control(paused=True)))
    play.finish_all()
    assert len([n for job_id, n in play.rows if job_id == "b"]) < 70
