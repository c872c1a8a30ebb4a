from __future__ import annotations

from typing import Any

import pytest

from farm.dispatch import choosing
from farm.dispatch import events as told
from farm.dispatch.policy import fits
from farm.dispatch.state import Earlier, Job, Task
from farm.domain.scene import Finding, Weight
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Progress
from tests.unit.dispatch.play import AVX2, SSE, Play, report, worker


@pytest.fixture
def play() -> Play:
    play = Play()
    play.join(worker("w1"), worker("w2"))
    return play


def planned(play: Play, frames: str = "1-4", **settings: object) -> None:
    play.submit(frames=frames, **({"tiles": "none"} | settings))
    [inspect] = play.orders()
    play.succeed(inspect)


def test_a_job_is_inspected_rendered_frame_by_frame_and_done(play: Play) -> None:
    play.submit(frames="1-4")
    [inspect] = play.orders()
    assert inspect.kind is TaskKind.INSPECT
    play.succeed(inspect)
    assert [order.task for order in play.orders()] == ["j1/1/whole", "j1/2/whole"]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert {n: play.frames["j1", n].state for n in range(1, 5)} == dict.fromkeys(range(1, 5), TaskState.DONE)
    assert play.frames["j1", 1].seconds == 2.0


def test_frames_without_a_worker_have_no_task_yet(play: Play) -> None:
    planned(play, "1-1000000")
    assert len(play.tasks) == 3  # the inspection and two frames


def test_a_cut_frame_is_finished_when_all_its_tiles_are_committed(play: Play) -> None:
    planned(play, "7", tiles="2x1")
    left, right = play.orders(TaskKind.TILE)
    play.succeed(right)
    assert not play.orders(TaskKind.FINISH)
    play.succeed(left)
    [finish] = play.orders(TaskKind.FINISH)
    assert [piece.tile for piece in finish.pieces] == [0, 1]
    play.succeed(finish)
    assert play.jobs["j1"].state is JobState.DONE
    assert play.dropped == [7]
    assert play.frames["j1", 7].seconds == 6.0


def test_a_crash_costs_one_attempt_and_is_tried_on_another_worker(play: Play) -> None:
    planned(play, "1")
    [order] = play.orders()
    first = play.where[order.attempt_id]
    play.fail(order)
    [again] = play.orders()
    assert again.task == order.task
    assert play.where[again.attempt_id] != first
    play.succeed(again)
    assert play.jobs["j1"].state is JobState.DONE


def test_three_failures_are_the_frames_own_fault_and_the_others_go_on(play: Play) -> None:
    planned(play, "1-3")
    while play.sent:
        order = play.orders()[0]
        if order.task == "j1/2/whole":
            play.fail(order)
        else:
            play.succeed(order)
    assert play.frames["j1", 2].state is TaskState.FAILED
    assert play.frames["j1", 2].error == "Blender crashed. (3 tries)"
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error == "1 of 3 frames failed. Frame 2: Blender crashed. (3 tries)"
    assert play.jobs["j1"].cure == "The other frames are done and can be fetched."
    assert len(play.failures) == 3


@pytest.mark.parametrize(
    ("frames", "error"),
    [
        ("7", "Frame 7: Blender crashed. (3 tries)"),
        ("7-8", "2 of 2 frames failed. Frame 7: Blender crashed. (3 tries)"),
    ],
)
def test_of_a_job_without_a_single_frame_none_is_said_to_be_there(
    play: Play, frames: str, error: str
) -> None:
    planned(play, frames)
    while play.sent:
        play.fail(play.orders()[0])
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error.startswith(error)
    assert play.jobs["j1"].cure == "See what happened with: farm show j1"


def test_a_job_whose_first_frames_all_fail_is_stopped(play: Play) -> None:
    planned(play, "1-1000")
    while play.sent:
        play.fail(play.orders()[0])
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error.startswith("The first 3 frames failed, so the others were not tried.")
    assert len(play.failures) <= 12


def test_a_bad_scene_stops_the_job_at_once(play: Play) -> None:
    planned(play, "1-1000")
    play.fail(play.orders()[0], Cause.BAD_SCENE, "The camera is gone at frame 1.")
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error == "The camera is gone at frame 1."
    assert play.frames["j1", 1].state is TaskState.FAILED
    assert play.frames["j1", 2].state is TaskState.CANCELLED
    assert not play.sent


def test_a_scene_with_errors_is_not_rendered(play: Play) -> None:
    play.submit()
    camera = Finding(code="no-camera", weight=Weight.ERROR, what="It has no camera.", cure="Add one.")
    engine = Finding(code="engine", weight=Weight.ERROR, what="It is not for Cycles.", cure="Choose Cycles.")
    note = Finding(code="note", weight=Weight.NOTE, what="It is pretty.")
    play.succeed(play.orders()[0], report(findings=(camera, note, engine)))
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error == "It has no camera. It is not for Cycles."
    assert play.jobs["j1"].cure == "Add one. Choose Cycles."


def test_a_grid_finer_than_the_picture_fails_the_job_with_a_sentence(play: Play) -> None:
    planned(play, "1", tiles="1000x1")
    assert play.jobs["j1"].state is JobState.FAILED
    assert "finer than the picture (640×360)" in play.jobs["j1"].error


def test_losing_a_worker_is_free(play: Play) -> None:
    planned(play, "1-2")
    for name in ("w1", "w2", "w1", "w2"):
        play.lose(name)
        play.join(worker(name))
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert {ended.state for ended in play.failures} == {AttemptState.LOST}


def test_a_task_whose_workers_keep_dying_is_given_up() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1")
    for _ in range(5):
        assert play.sent
        play.lose("w1")
        play.join(worker("w1"))
    assert play.jobs["j1"].state is JobState.FAILED


def test_storage_away_is_waited_for_with_growing_delay_and_never_counts(play: Play) -> None:
    planned(play, "1")
    waits = []
    for _ in range(8):
        order = play.orders()[0]
        play.fail(order, Cause.STORAGE, "Storage does not answer.")
        assert not play.sent
        start = play.now
        while not play.sent:
            play.now += 1.0
            play.assign()
        waits.append(play.now - start)
    assert waits == [2, 4, 8, 16, 30, 30, 30, 30]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_cancel_kills_what_runs_and_late_results_are_dropped(play: Play) -> None:
    planned(play, "1-9")
    running = play.orders()
    play.tell(told.CancelAsked("j1"))
    assert play.jobs["j1"].state is JobState.CANCELLED
    assert sorted(play.cancelled) == sorted(order.attempt_id for order in running)
    late = running[0]
    play.succeed(late)
    assert play.commits[TaskKey.parse(late.task)] == 0
    assert play.frames["j1", 1].state is TaskState.CANCELLED


def test_a_worker_stays_busy_until_a_cancelled_attempt_has_ended(play: Play) -> None:
    planned(play, "1-9")
    running = play.orders()
    play.tell(told.CancelAsked("j1"))
    play.submit("j2", frames="1")
    assert not play.sent
    play.fail(running[0], Cause.CANCELLED)
    assert [order.task for order in play.orders()] == ["j2/inspect"]


def test_a_result_that_comes_twice_counts_once(play: Play) -> None:
    planned(play, "1-2")
    order = play.orders()[0]
    play.succeed(order)
    play.succeed(order)
    play.finish_all()
    assert play.commits[TaskKey.parse(order.task)] == 1


def test_tiles_of_a_frame_come_from_one_render_class() -> None:
    play = Play()
    play.join(worker("w1"), worker("w2", render_class=SSE))
    planned(play, "1", tiles="2x1")
    [first] = play.orders(TaskKind.TILE)
    assert play.where[first.attempt_id] == "w1"
    play.succeed(first)
    [second] = play.orders(TaskKind.TILE)
    assert play.where[second.attempt_id] == "w1"


def test_a_piece_of_another_render_class_is_refused(play: Play) -> None:
    planned(play, "1", tiles="2x1")
    left, _ = play.orders(TaskKind.TILE)
    play.succeed(left, render_class=SSE)
    assert play.failures[-1].failure is not None
    assert play.failures[-1].failure.cause is Cause.WRONG_CLASS


def test_a_finished_frame_is_of_the_class_of_its_pieces(play: Play) -> None:
    planned(play, "1", tiles="2x1")
    for piece in play.orders(TaskKind.TILE):
        play.succeed(piece)
    [finish] = play.orders(TaskKind.FINISH)
    play.succeed(finish, render_class=SSE)  # it would be verified in a class that rendered none of it
    assert play.failures[-1].failure is not None
    assert play.failures[-1].failure.cause is Cause.WRONG_CLASS
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_result_without_its_picture_is_refused(play: Play) -> None:
    planned(play, "1")
    play.succeed(play.orders()[0], files=())
    assert play.failures[-1].failure is not None
    assert play.failures[-1].failure.cause is Cause.BAD_RESULT


def test_a_gpu_that_nobody_has_fails_the_job_and_never_falls_back(play: Play) -> None:
    planned(play, "1", device="optix")
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error == "No worker of this farm has a GPU for OptiX."


def test_a_gpu_job_goes_only_to_workers_that_have_it() -> None:
    play = Play()
    play.join(worker("w1"), worker("w2", device="OPTIX"))
    planned(play, "1-3", device="optix")
    assert {play.where[order.attempt_id] for order in play.orders()} == {"w2"}


def test_jobs_are_served_in_the_order_of_their_submission(play: Play) -> None:
    planned(play, "1-3")
    play.now += 1
    play.submit("j2", frames="1")
    play.succeed(play.orders()[0])
    assert [order.task for order in play.orders()] == ["j1/2/whole", "j1/3/whole"]
    play.succeed(play.orders()[0])
    assert "j2/inspect" in [order.task for order in play.orders()]


def test_an_attempt_that_its_worker_has_forgotten_is_retried(play: Play) -> None:
    planned(play, "1")
    [order] = play.orders()
    name = play.where[order.attempt_id]
    play.sent.clear()
    play.tell(told.WorkerJoined(worker(name), ()))
    [again] = play.orders()
    assert again.task == order.task
    assert again.attempt_id != order.attempt_id


def test_a_worker_found_again_keeps_what_it_renders(play: Play) -> None:
    planned(play, "1")
    [order] = play.orders()
    name = play.where[order.attempt_id]
    play.tell(told.WorkerJoined(worker(name), (order.attempt_id,)))
    assert [o.attempt_id for o in play.orders()] == [order.attempt_id]
    play.succeed(order)
    assert play.jobs["j1"].state is JobState.DONE


def test_workers_that_do_not_come_back_lose_their_attempts(play: Play) -> None:
    planned(play, "1-2")
    gone = play.orders()[0]
    name = play.where[gone.attempt_id]
    del play.core.state.workers[name]
    play.sent.pop(gone.attempt_id)
    play.tell(told.FleetMet())
    assert play.attempts[gone.attempt_id] is AttemptState.LOST


def test_an_order_that_did_not_arrive_is_sent_again(play: Play) -> None:
    planned(play, "1")
    [order] = play.orders()
    play.sent.clear()
    play.tell(told.OrderLost(order.attempt_id))
    assert len(play.orders()) == 1
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_progress_of_an_ended_attempt_is_dropped(play: Play) -> None:
    planned(play, "1-2")
    order = play.orders()[0]
    play.succeed(order)
    assert play.core.handle(told.Progressed(order.attempt_id, Progress(phase="rendering")), play.now) == []


def test_a_tile_that_failed_is_tried_again_where_the_only_other_worker_is_of_another_class() -> None:
    play = Play()
    play.join(worker("w1"), worker("w2", render_class=SSE))
    planned(play, "1", tiles="2x1")
    for _ in range(2):
        play.fail(play.orders(TaskKind.TILE)[0])
    [again] = play.orders(TaskKind.TILE)
    assert (again.task, play.where[again.attempt_id]) == ("j1/1/tile-0", "w1")


def test_a_frame_whose_class_is_gone_begins_anew_on_another_after_a_minute() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1", tiles="2x1")
    play.succeed(play.orders()[0])
    play.lose("w1")
    play.join(worker("w2", render_class=SSE))
    play.now += 59
    play.assign()
    assert not play.sent
    assert play.frames["j1", 1].state is TaskState.RUNNING
    play.now += 1
    play.assign()
    assert play.anew == [1]
    assert [order.task for order in play.orders()] == ["j1/1/tile-0"]
    play.succeed(play.orders()[0])
    play.succeed(play.orders()[0])
    [finish] = play.orders(TaskKind.FINISH)
    assert {piece.render_class for piece in finish.pieces} == {SSE}
    play.succeed(finish)
    assert play.jobs["j1"].state is JobState.DONE
    assert play.frames["j1", 1].seconds == 6.0


def test_a_frame_whose_class_comes_back_in_time_keeps_its_pieces() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1", tiles="2x1")
    play.succeed(play.orders()[0])
    play.lose("w1")
    play.join(worker("w2", render_class=SSE))
    for _ in range(3):
        play.now += 50
        play.join(worker("w1"))
        assert [order.task for order in play.orders()] == ["j1/1/tile-1"]
        play.lose("w1")
    assert play.anew == []


def test_a_class_without_any_piece_is_left_at_once() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1", tiles="2x1")
    play.lose("w1")
    play.join(worker("w2", render_class=SSE))
    assert [play.where[order.attempt_id] for order in play.orders()] == ["w2"]


def test_with_no_worker_at_all_a_frame_keeps_its_pieces_however_long_it_takes() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1", tiles="2x1")
    play.succeed(play.orders()[0])
    play.lose("w1")
    play.now += 10_000
    play.assign()
    play.join(worker("w3"))
    assert [order.task for order in play.orders()] == ["j1/1/tile-1"]
    assert play.anew == []


def test_a_finish_goes_to_any_worker_of_the_same_build() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1", tiles="2x1")
    play.succeed(play.orders()[0])
    last = play.orders()[0]
    play.join(worker("w2", render_class=SSE))
    play.succeed(last)
    [finish] = play.orders(TaskKind.FINISH)
    play.lose(play.where[finish.attempt_id])
    [again] = play.orders(TaskKind.FINISH)
    assert play.where[again.attempt_id] == "w2"


def test_a_finish_whose_build_is_gone_waits_until_its_frame_is_rendered_anew() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1", tiles="2x1")
    play.succeed(play.orders()[0])
    play.succeed(play.orders()[0])
    assert play.orders(TaskKind.FINISH)
    play.lose("w1")
    newer = SSE.model_copy(update={"blender": "5.3.0 def"})
    play.join(worker("w2", render_class=newer))
    play.now += 60
    play.assign()
    assert [order.kind for order in play.orders()] == [TaskKind.TILE]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_gpu_worker_that_turns_out_to_have_another_cpu_is_asked_once_and_it_costs_no_try() -> None:
    play = Play()
    names = [f"g{number}" for number in range(4)]
    play.join(worker("w1"), *(worker(name, device="OPTIX") for name in names))
    planned(play, "1", tiles="4x2", device="cpu")
    for _ in range(20):  # the GPU workers' CPUs are others than that of w1
        for order in play.orders(TaskKind.TILE):
            mine = play.where[order.attempt_id] == "w1"
            play.succeed(order) if mine else play.fail(order, Cause.WRONG_CLASS)
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert len(play.failures) == len(names)


def test_a_worker_that_an_order_did_not_reach_gets_none_before_it_is_met_again() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1")
    [order] = play.orders()
    play.sent.clear()
    play.tell(told.OrderLost(order.attempt_id))
    assert not play.sent
    play.lose("w1")
    play.join(worker("w1"))
    assert [order.task for order in play.orders()] == ["j1/1/whole"]


def test_while_storage_is_away_no_more_frames_are_opened_than_there_are_workers(play: Play) -> None:
    planned(play, "1-1000")
    for _ in range(50):
        for order in play.orders():
            play.fail(order, Cause.STORAGE, "Storage does not answer.")
        play.now += 0.5
        play.assign()
    assert len([key for key in play.tasks if key.frame is not None]) <= 4


def test_what_is_kept_of_a_task_does_not_grow_with_its_tries(play: Play) -> None:
    planned(play, "1")
    for _ in range(100):
        play.fail(play.orders()[0], Cause.STORAGE, "Storage does not answer.")
        play.now += 60
        play.assign()
    [task] = play.core.state.jobs["j1"].tasks.values()
    assert len(task.story) <= 20


def test_a_farm_that_is_stopped_every_evening_does_not_give_a_long_frame_up() -> None:
    play = Play()
    play.join(worker("w1"))
    planned(play, "1")
    for _ in range(10):
        play.core.state.workers.clear()  # the head comes back, and meets a new worker
        play.sent.clear()
        play.tell(told.FleetMet())
        play.join(worker("w1"))
        assert [order.task for order in play.orders()] == ["j1/1/whole"]
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_workers_whose_gpu_is_gone_do_not_end_a_job_that_another_can_render() -> None:
    play = Play()
    names = [f"g{number}" for number in range(5)]
    play.join(*(worker(name, device="OPTIX") for name in names))
    planned(play, "1-6", device="optix")
    while play.sent:
        order = play.orders()[0]
        if play.where[order.attempt_id] == "g4":
            play.succeed(order)
        else:
            play.fail(order, Cause.NO_DEVICE, "Cycles finds no GPU.")
    assert play.jobs["j1"].state is JobState.DONE


def test_a_device_that_is_gone_from_the_only_worker_that_had_it_ends_the_job_at_once() -> None:
    play = Play()
    play.join(worker("w1"), worker("g1", device="OPTIX"))
    planned(play, "1-6", device="optix")
    play.fail(play.orders()[0], Cause.NO_DEVICE, "Cycles finds no GPU.")
    assert (play.jobs["j1"].state, play.jobs["j1"].error) == (JobState.FAILED, "Cycles finds no GPU.")


def test_idle_workers_look_at_nothing_that_is_of_another_class(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    play.join(worker("w0"), *(worker(f"w{n}", render_class=SSE) for n in range(1, 40)))
    play.left |= {("j1", number): Earlier(AVX2) for number in range(1, 101)}
    play.verify("j1", "1-100")
    looks: list[TaskKey] = []

    def looking(job: Job, task: Task, *rest: Any) -> bool:
        looks.append(task.key)
        return fits(job, task, *rest)

    monkeypatch.setattr(choosing, "fits", looking)
    play.assign()
    assert len(play.core.state.jobs["v1"].tasks) == 41
    assert looks == []  # 39 workers, 40 waiting tasks: not 1,560 looks
    play.finish_all()
    assert play.jobs["v1"].state is JobState.DONE
    assert len(looks) == 99  # one for each frame after the first
