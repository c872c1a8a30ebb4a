"""Plans that size themselves: costs are learned, tails are cut, stragglers are cut again or raced."""

from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.instructions import Instruction
from farm.domain.control import Control
from farm.domain.costs import Costs
from farm.domain.plan import Recut
from farm.domain.scene import Finding, SceneReport, Weight
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Order, Progress, Seconds
from tests.unit.dispatch.play import AVX2, SSE, Play, report, worker

NOISE = Finding(code="volume", weight=Weight.NOTE, what="a volume")
#: Of each whole frame, unless a test says otherwise.
TOOK = {"sync": 1.0, "render": 40.0, "total": 42.0}


class Sized(Play):
    """A farm whose frames take `TOOK`, and that notes what it is told of costs and revisions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.costs: list[do.CostsMeasured] = []
        self.why: list[str] = []

    def _apply(self, instruction: Instruction) -> None:
        if isinstance(instruction, do.CostsMeasured):
            self.costs.append(instruction)
        elif isinstance(instruction, do.FrameRecut):
            self.why.append(instruction.why)
        super()._apply(instruction)

    def begin(self, workers: int, scene: SceneReport | None = None, **settings: str) -> None:
        """A job whose scene is inspected, on so many workers."""
        self.join(*[worker(f"w{n}", price=36.0) for n in range(workers)])
        self.submit("j1", Control(), "ann", **settings)
        [order] = self.orders()
        self.succeed(order, scene)

    def end(self, order: Order, after: float = 0.0, **took: float) -> None:
        """An order is done, so many seconds from now."""
        self.now += after
        self.succeed(order, seconds=Seconds(**TOOK | took))

    def one(self, task: str) -> Order:
        [order] = [order for order in self.orders() if order.task == f"j1/{task}"]
        return order

    @property
    def tasks_sent(self) -> set[str]:
        return {order.task.partition("/")[2] for order in self.orders()}

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.assign()


def test_costs_are_learned_of_frames_and_told_seldom() -> None:
    play = Sized()
    play.begin(2, frames="1-6")
    for _ in range(4):
        play.end(play.orders()[0], after=21.0, load=0.0)
    job = play.core.state.jobs["j1"]
    assert (job.costs.seen, job.costs.sync, job.costs.render) == (4, 1, 40)
    assert [record.costs.seen for record in play.costs] == [1, 2, 3, 4]
    play.end(play.orders()[0], after=0.5)
    assert len(play.costs) == 4
    assert job.costs.seen == 5


def test_all_that_was_tried_is_paid_also_in_vain() -> None:
    play = Sized()
    play.begin(1, frames="1", tiles="none")
    play.now += 10
    play.fail(play.one("1/whole"))
    play.now += 5
    play.tell(told.CancelAsked("j1"))
    assert play.costs[-1].costs.spent == pytest.approx(15)
    assert play.costs[-1].costs.paid == pytest.approx(0.15)  # 36 an hour
    assert play.jobs["j1"].state is JobState.CANCELLED


def test_a_worker_that_takes_twice_as_long_has_half_the_speed() -> None:
    play = Sized()
    play.begin(2, frames="1-40", tiles="none")
    for _ in range(20):
        for order in play.orders():
            render = 80.0 if play.where[order.attempt_id] == "w1" else 40.0
            play.end(order, after=1.0, render=render, sync=0.0)
    quick, slow = (play.core.state.workers[name].speed for name in ("w0", "w1"))
    assert slow / quick == pytest.approx(0.5, rel=0.15)


def test_the_last_frame_is_cut_for_all_workers_and_says_so() -> None:
    play = Sized()
    play.begin(4, frames="1-5")
    assert play.plans["j1"].grid is None
    for order in play.orders():
        play.end(order, after=42.0 if order is play.orders()[0] else 0.0)
    number = next(frame for _, frame in play.recuts)
    assert play.recuts["j1", number] == (Recut(grid="2x2"),)
    assert play.why == ["Cut in 4: so the last frame will be done in 14 s instead of 41 s."]
    for piece in range(3):
        play.end(play.one(f"{number}/tile-{piece}"), after=4.0, render=10.0, total=12.0)
    assert not play.orders(TaskKind.FINISH)
    play.end(play.one(f"{number}/tile-3"), render=10.0, total=12.0)
    [finish] = play.orders(TaskKind.FINISH)
    assert [piece.tile for piece in finish.pieces] == [0, 1, 2, 3]
    play.end(finish, render=0.0, total=2.0)
    assert play.jobs["j1"].state is JobState.DONE
    assert number in play.dropped


@pytest.mark.parametrize(
    ("scene", "settings"),
    [
        ({"breaks_exactness": (NOISE,)}, {}),
        ({"blocks_cutting": (NOISE,)}, {}),
        ({"in_order": (NOISE,)}, {}),
        ({}, {"tiles": "none"}),
        ({}, {"split": "samples:1"}),
    ],
)
def test_what_may_not_be_cut_or_was_asked_for_otherwise_stays_whole(
    scene: dict[str, object], settings: dict[str, str]
) -> None:
    play = Sized()
    play.begin(4, report(**scene), frames="1-5", **settings)
    while play.orders():
        play.end(play.orders()[0], after=42.0)
    assert not any(play.recuts.values())
    assert play.jobs["j1"].state is JobState.DONE


def test_a_tail_that_is_prepared_for_long_stays_whole() -> None:
    play = Sized()
    play.begin(4, frames="1-9")
    for _ in range(8):
        play.end(play.orders()[0], after=10.0, sync=40.0, render=4.0, total=45.0)
    assert play.recuts == {}


def straggling(workers: int = 3) -> Sized:
    """A job of which one frame is left, whole, on the worker w0, for 41 s; the others are idle."""
    play = Sized()
    play.begin(workers, frames=f"1-{2 * workers}")
    play.now += 42
    for order in play.orders():
        play.end(order)
    play.now += 41
    for order in play.orders():
        if play.where[order.attempt_id] != "w0":
            play.end(order)
    assert play.recuts == {}
    return play


def left(play: Sized) -> tuple[str, TaskKey]:
    """The frame that runs on, as a name and a key."""
    [order] = play.orders()
    return order.task.partition("/")[2].partition("/")[0], TaskKey.parse(order.task)


def test_a_frame_that_takes_long_is_cut_for_idle_workers_and_the_pieces_may_win() -> None:
    play = straggling()
    number, key = left(play)
    play.pass_time(1.0)
    assert play.why == []  # as long as it takes what frames take, nothing is done
    play.tell(
        told.Progressed(
            play.one(f"{number}/whole").attempt_id, Progress(phase="rendering", sample=4, samples=64)
        )
    )
    play.pass_time(1.5)
    [recut] = play.recuts["j1", int(number)]
    assert recut == Recut(grid="3x2")  # of two idle workers each gets one, and then what is left
    assert play.why[0].startswith("The frame would take ")
    assert play.why[0].endswith("on workers that are idle.")
    assert play.tasks_sent == {f"{number}/whole", f"{number}/tile-0", f"{number}/tile-1"}
    whole = play.one(f"{number}/whole")
    for piece in range(6):
        play.end(play.one(f"{number}/tile-{piece}"), after=3.0, render=5.0, total=5.5)
    assert whole.attempt_id in play.cancelled
    assert play.attempts[whole.attempt_id] is AttemptState.CANCELLED
    [finish] = play.orders()
    assert [piece.tile for piece in finish.pieces] == [*range(6)]
    assert finish.plan is not None
    assert finish.plan.recuts == (recut,)
    play.end(finish, render=0.0, total=2.0)
    assert play.jobs["j1"].state is JobState.DONE
    play.succeed(whole)  # it comes late: a committed result is never replaced
    assert play.commits[key] == 0


def test_the_whole_frame_may_win_too_and_its_pieces_are_dropped() -> None:
    play = straggling()
    number, key = left(play)
    play.pass_time(150.0)
    assert play.tasks_sent == {f"{number}/whole", f"{number}/tile-0", f"{number}/tile-1"}
    play.end(play.one(f"{number}/tile-0"), after=5.0, render=20.0, total=22.0)
    late = play.one(f"{number}/tile-1")
    play.end(play.one(f"{number}/whole"))
    assert play.jobs["j1"].state is JobState.DONE
    assert play.commits[key] == 1
    assert late.attempt_id in play.cancelled
    assert int(number) in play.dropped
    assert not play.orders()


def test_a_frame_and_its_own_first_piece_may_both_wait() -> None:
    play = straggling()
    number, _ = left(play)
    play.pass_time(150.0)
    for name in ("w0", "w1", "w2"):  # the machines go down, with the frame and its pieces on them
        play.lose(name)
    waiting = {str(key.last) for key, state in play.tasks.items() if state is TaskState.WAITING}
    assert {"whole", "tile-0"} <= waiting
    play.join(worker("w9", render_class=SSE))  # so that the pieces leave the class that they were begun in
    [order] = play.orders()
    assert order.task == f"j1/{number}/whole"  # of both, the one that needs no finish
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_what_may_not_be_cut_is_raced_whole_also_by_another_class() -> None:
    play = Sized()
    scene = report(breaks_exactness=(NOISE,))
    play.join(worker("w0"), worker("w1", render_class=SSE))
    play.submit("j1", frames="1-3")
    play.succeed(play.orders()[0], scene)
    play.end(next(order for order in play.orders() if play.where[order.attempt_id] == "w1"), after=42.0)
    play.end(next(order for order in play.orders() if play.where[order.attempt_id] == "w1"), after=42.0)
    number, key = left(play)
    play.pass_time(100.0)
    assert play.tasks_sent == {f"{number}/whole", f"{number}/whole-1"}
    assert "so it is raced: about 42 s on w1." in play.why[0]
    assert play.recuts["j1", int(number)] == ()
    first = play.one(f"{number}/whole")
    play.end(play.one(f"{number}/whole-1"), after=42.0)
    assert first.attempt_id in play.cancelled
    assert play.commits[key] == 0
    assert play.jobs["j1"].state is JobState.DONE


def test_a_race_that_fails_takes_nothing_with_it() -> None:
    play = Sized()
    play.begin(4, report(breaks_exactness=(NOISE,)), frames="1-5")
    play.now += 42
    for order in play.orders()[:4]:
        play.end(order)
    number, _ = left(play)
    play.pass_time(150.0)
    for _ in range(3):
        play.fail(play.one(f"{number}/whole-1"))
        play.pass_time(60.0)
    assert play.tasks[TaskKey("j1", TaskKind.FRAME, int(number), race=1)] is TaskState.FAILED
    assert play.tasks_sent == {f"{number}/whole"}
    play.end(play.one(f"{number}/whole"))
    assert play.jobs["j1"].state is JobState.DONE


def test_a_piece_that_takes_long_is_cut_once_more_and_its_parts_count_with_the_others() -> None:
    play = Sized()
    play.begin(4, frames="1")  # nothing is known: it is cut at once
    assert play.plans["j1"].grid == "2x2"
    for piece in (0, 1, 2):
        play.end(play.one(f"1/tile-{piece}"), after=4.0, render=10.0, total=12.0)
    slow = play.one("1/tile-3")
    play.pass_time(60.0)
    [recut] = play.recuts["j1", 1]
    assert recut.of == 3
    assert play.why[0].startswith("Piece 4 would take ")
    plan = play.plan_of("j1", 1)
    parts = [*plan.parts[0]]
    for _ in parts:
        part = next(order for order in play.orders() if order is not slow)
        play.end(part, after=1.0, render=1.0, total=1.5)
    assert slow.attempt_id in play.cancelled
    [finish] = play.orders()
    assert [piece.tile for piece in finish.pieces] == [0, 1, 2, *parts]
    play.blame(finish, 4)
    assert play.tasks_sent == {"1/tile-4"}
    play.end(play.one("1/tile-4"), render=4.0, total=5.0)
    play.end(play.orders(TaskKind.FINISH)[0], total=2.0)
    assert play.jobs["j1"].state is JobState.DONE


def test_a_piece_that_is_there_gives_up_its_parts_before_the_frame_is_complete() -> None:
    play = Sized()
    play.begin(4, frames="1")
    for piece in (0, 1):
        play.end(play.one(f"1/tile-{piece}"), after=4.0, render=10.0, total=12.0)
    play.pass_time(60.0)
    of = play.recuts["j1", 1][0].of
    assert of in (2, 3)
    play.end(play.one(f"1/tile-{of}"), render=40.0, total=44.0)
    numbers = {f"1/tile-{part}" for part in play.plan_of("j1", 1).parts[0]}
    assert not numbers & play.tasks_sent
    assert f"1/tile-{5 - of}" in play.tasks_sent
    assert not play.orders(TaskKind.FINISH)


def test_no_frame_is_revised_for_ever() -> None:
    play = straggling(workers=6)
    for _ in range(50):
        play.pass_time(100.0)
    [recuts] = [recuts for recuts in play.recuts.values() if recuts]
    assert len(recuts) <= 2


def test_a_job_that_is_paused_or_limited_is_not_helped() -> None:
    for control in (Control(paused=True), Control(workers=3)):
        play = straggling()
        play.tell(told.ControlAsked("j1", control))
        play.pass_time(500.0)
        assert play.recuts == {}


def test_who_has_something_else_to_do_helps_nobody() -> None:
    play = straggling()
    play.submit("j2", frames="1-9", tiles="none")
    play.succeed(next(order for order in play.orders() if order.kind is TaskKind.INSPECT))
    play.pass_time(500.0)
    assert play.recuts == {}


def test_what_was_raced_is_cut_still_once_more_workers_are_idle() -> None:
    play = straggling(workers=2)
    number, _ = left(play)
    play.pass_time(400.0)
    assert play.tasks_sent == {f"{number}/whole", f"{number}/whole-1"}
    play.pass_time(200.0)
    play.join(*[worker(f"n{n}") for n in range(4)])
    play.pass_time(2.0)
    [recut] = play.recuts["j1", int(number)]
    assert recut.of is None
    assert {task for task in play.tasks_sent if "tile" in task}


@pytest.mark.parametrize(("frames", "cut"), [("1-9", False), ("1", True)])
def test_last_frames_stay_whole_where_another_job_has_more_to_begin(frames: str, cut: bool) -> None:
    play = Sized()
    play.begin(4, frames="1-5")
    play.submit("j2", Control(), "ann", frames=frames, tiles="none")
    play.tell(told.ControlAsked("j1", Control(paused=True)))
    play.end(play.orders()[0], after=42.0)
    play.succeed(next(order for order in play.orders() if order.kind is TaskKind.INSPECT))
    play.end(next(order for order in play.orders() if order.task.startswith("j1/")))
    play.tell(told.ControlAsked("j1", Control()))
    for order in play.orders():
        play.end(order)
    assert play.core.state.jobs["j1"].opened == 5
    assert bool(play.recuts) is cut


def test_pieces_of_a_revision_come_from_one_class() -> None:
    play = straggling(workers=4)
    number, _ = left(play)
    play.join(worker("s1", render_class=SSE), worker("s2", render_class=SSE))
    play.pass_time(200.0)
    pieces = [order for order in play.orders() if "tile" in order.task]
    assert {play.where[order.attempt_id] for order in pieces} == {"w1", "w2", "w3"}
    assert {order.render_class for order in pieces} == {AVX2}
    assert number


def test_costs_of_an_earlier_job_of_the_scene_decide_a_still() -> None:
    for costs, grid in (
        (Costs(seen=9, sync=1, render=100, rest=1, finish=3), "2x2"),
        (Costs(seen=9, load=1, sync=50, render=4, rest=1, finish=50), None),
    ):
        play = Sized()
        play.join(*[worker(f"w{n}") for n in range(4)])
        play.submit("j1", frames="1")
        play.core.state.jobs["j1"].earlier_costs = (costs, 640 * 360 * 64.0)
        play.succeed(play.orders()[0])
        assert play.plans["j1"].grid == grid
        assert play.core.state.jobs["j1"].costs.seen == 1


def test_where_a_part_of_a_revision_fails_the_others_are_not_rendered_in_vain() -> None:
    play = straggling(4)
    number, _ = left(play)
    play.pass_time(150.0)
    bad = TaskKey("j1", TaskKind.TILE, int(number), 0)
    while play.tasks[bad] is not TaskState.FAILED:
        parts = {order.task: order for order in play.orders(TaskKind.TILE)}
        if str(bad) in parts:
            play.fail(parts[str(bad)])
        else:  # for whom it failed waits for another
            play.end(next(iter(parts.values())))
    assert len(play.open_keys("j1")) == 1
    assert play.tasks_sent == {f"{number}/whole"}
    assert play.cancelled
    play.end(play.one(f"{number}/whole"))
    assert play.jobs["j1"].state is JobState.DONE


def test_an_attempt_that_was_lost_and_came_late_is_paid_once() -> None:
    play = Sized()
    play.begin(1, frames="1", tiles="none")
    info, order = play.core.state.workers["w0"].info, play.one("1/whole")
    play.now += 10
    play.lose("w0")
    play.now += 5
    play.come_back(info, order)
    play.end(order, after=7)
    assert play.jobs["j1"].state is JobState.DONE
    assert play.costs[-1].costs.spent == pytest.approx(22)
