from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.dispatch.ladder import LADDER, Step
from farm.domain.control import Control
from farm.domain.job import Device
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKind
from farm.domain.work import Cause, Failure, Order, RenderClass, WorkerInfo
from tests.unit.dispatch.play import AVX2, SSE, Play, worker
from tests.unit.dispatch.rebirth import restart

SMALL = RenderClass(blender="5.2.3 abc", device="OPTIX", kernel="sm_89")
LARGE = RenderClass(blender="5.2.3 abc", device="OPTIX", kernel="sm_90")
TOO_LITTLE = "Blender ran out of memory."


def of_size(name: str, gigabytes: float, render_class: RenderClass = AVX2) -> WorkerInfo:
    """A worker of the CPU with so much memory."""
    info = worker(name, render_class=render_class)
    return info.model_copy(update={"memory": int(gigabytes * 1e9)})


def gpu(name: str, gigabytes: float, render_class: RenderClass = SMALL, host: float = 64) -> WorkerInfo:
    """A worker of a GPU with so much memory, in a host with so much."""
    info = worker(name, "OPTIX", render_class)
    return info.model_copy(update={"gpu_memory": int(gigabytes * 1e9), "memory": int(host * 1e9)})


def farm_of(*infos: WorkerInfo) -> Play:
    play = Play()
    play.join(*infos)
    return play


def planned(play: Play, frames: str = "1", *, other_class: bool = False, **settings: object) -> None:
    play.submit(frames=frames, **({"tiles": "none"} | settings))
    play.core.state.jobs["j1"].control = Control(other_class=other_class)
    play.succeed(play.orders(TaskKind.INSPECT)[0])


def on(play: Play) -> dict[str, str]:
    """What runs, by worker."""
    return {play.where[order.attempt_id]: order.task for order in play.orders()}


def too_little(play: Play, order: Order | None = None) -> None:
    play.fail(order or play.orders()[0], Cause.OUT_OF_MEMORY, TOO_LITTLE)


def fail(play: Play, order: Order, cause: Cause, log_tail: str = "") -> None:
    play.sent.pop(order.attempt_id)
    failure = Failure(cause=cause, what="Blender crashed.", cure="Look.", log_tail=log_tail)
    play.tell(told.Failed(order.attempt_id, failure))


def test_every_cause_has_a_ladder_that_ends() -> None:
    assert set(LADDER) == set(Cause)
    for rungs in LADDER.values():
        assert rungs[-1].most is None
        assert all(rung.most is not None or rung.where != "anywhere" for rung in rungs[:-1])


def test_what_a_cause_says_of_itself_agrees_with_its_ladder() -> None:
    assert {cause for cause, rungs in LADDER.items() if rungs[-1].step is Step.STOP} == {
        cause for cause in Cause if cause.stops_job
    }


# --- memory ---


def test_a_task_that_ran_out_of_memory_goes_only_to_a_worker_with_more() -> None:
    play = farm_of(of_size("small", 8), of_size("as small", 8), of_size("large", 32))
    planned(play, "1-3")
    busy = on(play)
    assert busy["small"] == "j1/1/whole"
    too_little(play)
    assert "j1/1/whole" not in on(play).values()  # it waits for the large one
    large = next(order for order in play.orders() if play.where[order.attempt_id] == "large")
    play.succeed(large)
    assert on(play)["large"] == "j1/1/whole"
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_lack_of_memory_is_no_failure_of_the_task_while_there_is_more() -> None:
    play = farm_of(*(of_size(f"w{size}", size) for size in (1, 2, 4, 8, 16, 32)))
    planned(play)
    sizes = []
    while play.sent:
        [name] = on(play)
        sizes.append(int(name[1:]))
        if name == "w32":
            play.finish_all()
        else:
            too_little(play)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == 32
    assert play.jobs["j1"].state is JobState.DONE


def test_where_no_worker_has_more_another_with_as_much_has_one_try_then_the_frame_fails_with_a_cure() -> None:
    play = farm_of(of_size("a", 8), of_size("b", 8), of_size("c", 8))
    planned(play)
    assert set(on(play)) == {"a"}
    too_little(play)
    assert set(on(play)) == {"b"}
    too_little(play)
    assert play.frames["j1", 1].error == (
        "Blender ran out of memory. No worker that could render it has more than 8.0 GB: let it be rendered "
        "on another render class (--other-class), start a worker with more memory, or use smaller textures "
        "or less geometry."
    )
    assert play.jobs["j1"].state is JobState.FAILED
    assert [ended.failure.memory for ended in play.failures if ended.failure] == [8_000_000_000] * 2


def test_the_last_failure_tells_the_cure_with_the_attempt() -> None:
    play = farm_of(of_size("a", 8))
    planned(play, other_class=True)
    too_little(play)
    [ended] = play.failures
    assert ended.failure is not None
    assert not ended.retry
    assert ended.failure.cure == (
        "No worker that could render it has more than 8.0 GB: start a worker with more memory, or use "
        "smaller textures or less geometry."
    )


def test_a_piece_does_not_change_its_class_by_itself() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 64, SSE))
    planned(play, tiles="2x1")
    assert on(play) == {"w1": "j1/1/tile-0"}
    too_little(play)
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.anew == []


def test_where_the_job_allows_it_the_whole_frame_begins_anew_on_another_class() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 64, SSE))
    planned(play, tiles="2x1", other_class=True)
    play.succeed(play.orders()[0])
    assert on(play) == {"w1": "j1/1/tile-1"}
    too_little(play)
    assert play.anew == [1]
    assert on(play) == {"w2": "j1/1/tile-0"}
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE
    assert play.left["j1", 1].render_class == SSE


def test_the_reason_of_a_move_is_told() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 64, SSE))
    planned(play, tiles="2x1", other_class=True)
    order = play.orders()[0]
    failure = Failure(cause=Cause.OUT_OF_MEMORY, what=TOO_LITTLE)
    out = play.core.handle(told.Failed(order.attempt_id, failure), play.now)
    [anew] = [said for said in out if isinstance(said, do.FrameAnew)]
    assert anew.why == (
        "It does not fit into 8.0 GB of memory, and no worker with Blender 5.2.3 abc, CPU avx2 has more, "
        "so the whole frame is rendered again on another render class, as this job allows."
    )


def test_what_else_of_the_frame_runs_in_the_old_class_is_killed() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 16), of_size("w3", 64, SSE))
    planned(play, tiles="2x1", other_class=True)
    by_worker = {play.where[order.attempt_id]: order for order in play.orders()}
    assert set(by_worker) == {"w1", "w2"}
    too_little(play, by_worker["w2"])
    assert play.anew == [1]
    assert play.cancelled == [by_worker["w1"].attempt_id]
    assert play.attempts[by_worker["w1"].attempt_id] is AttemptState.CANCELLED
    assert set(on(play)) == {"w3"}
    play.finish_all()
    assert play.left["j1", 1].render_class == SSE


def test_a_frame_that_no_gpu_can_hold_moves_to_the_cpu_of_the_same_machine() -> None:
    play = farm_of(gpu("g1", 24))
    planned(play, "1-2", device="optix", other_class=True)
    [order] = play.orders()
    assert order.settings.device is Device.OPTIX
    too_little(play)
    assert play.anew == [1]
    [again] = play.orders()
    assert (again.task, again.settings.device) == ("j1/1/whole", Device.CPU)
    play.succeed(again)
    [other] = play.orders()
    assert (other.task, other.settings.device) == ("j1/2/whole", Device.OPTIX)


def test_without_leave_a_gpu_job_never_falls_back_to_the_cpu() -> None:
    play = farm_of(gpu("g1", 24), of_size("c1", 256))
    planned(play, device="optix")
    too_little(play)
    assert play.jobs["j1"].state is JobState.FAILED
    assert "(--other-class)" in play.jobs["j1"].error


def test_a_larger_gpu_comes_before_the_cpu() -> None:
    play = farm_of(gpu("g1", 24), gpu("g2", 80, LARGE, host=512))
    planned(play, device="optix", tiles="2x1", other_class=True)
    assert on(play) == {"g1": "j1/1/tile-0"}
    too_little(play)
    assert on(play) == {"g2": "j1/1/tile-0"}
    assert {order.settings.device for order in play.orders()} == {Device.OPTIX}


def test_a_frame_that_does_not_fit_into_the_cpu_either_fails() -> None:
    play = farm_of(gpu("g1", 24))
    planned(play, device="optix", other_class=True)
    too_little(play)
    too_little(play)
    assert play.jobs["j1"].state is JobState.FAILED
    assert "has more than 64.0 GB" in play.jobs["j1"].error


def test_a_verification_stays_in_the_class_of_what_it_verifies() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 64, SSE))
    planned(play)
    play.finish_all()
    [name] = {play.where[a] for a, key in play.keys.items() if key.kind is TaskKind.FRAME}
    play.verify("j1", "1")
    play.core.state.jobs["v1"].control = Control(other_class=True)
    assert set(on(play)) == {name}
    too_little(play)
    assert play.anew == []
    assert play.jobs["v1"].state is JobState.FAILED


def test_a_frame_that_moved_to_the_cpu_is_verified_there() -> None:
    play = farm_of(gpu("g1", 24), of_size("c1", 64))
    planned(play, device="optix", other_class=True)
    too_little(play)
    [order] = play.orders()
    play.succeed(order, render_class=AVX2)
    assert play.jobs["j1"].state is JobState.DONE
    play.verify("j1", "1", device="optix")
    [verify] = play.orders()
    assert verify.settings.device is Device.CPU


def wait(play: Play, seconds: int) -> None:
    for _ in range(seconds):
        play.now += 1
        play.assign()


def test_a_task_waits_a_minute_for_a_worker_with_enough_memory_that_has_gone() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 64))
    planned(play, "1-2")
    too_little(play, next(order for order in play.orders() if play.where[order.attempt_id] == "w1"))
    play.lose("w2")
    wait(play, 59)
    play.join(of_size("w2", 64))
    assert "j1/1/whole" in on(play).values()
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_then_it_fails_and_says_what_it_needs() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 64))
    planned(play)
    too_little(play)
    assert set(on(play)) == {"w2"}
    play.lose("w2")
    wait(play, 62)
    assert play.frames["j1", 1].error == (
        "It does not fit into 8.0 GB of memory, and no worker is left that has more. No worker that could "
        "render it has more than 8.0 GB: let it be rendered on another render class (--other-class), start a "
        "worker with more memory, or use smaller textures or less geometry."
    )
    assert play.jobs["j1"].state is JobState.FAILED


def test_or_its_frame_begins_anew_on_another_class_where_the_job_allows_it() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 64), of_size("w3", 32, SSE))
    planned(play, tiles="2x1", other_class=True)
    first = {play.where[order.attempt_id]: order for order in play.orders()}
    too_little(play, first["w1"])
    play.lose("w2")
    wait(play, 62)
    assert play.anew == [1]
    assert set(on(play)) == {"w3"}
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_where_the_machine_s_memory_ran_out_a_larger_gpu_is_no_help() -> None:
    few, larger, roomy = gpu("few", 24, host=16), gpu("larger", 48, host=16), gpu("roomy", 8, host=64)
    play = farm_of(few)
    planned(play)
    play.join(larger, roomy)
    play.fail(play.orders()[0], Cause.OUT_OF_MEMORY, TOO_LITTLE, host=True)
    assert on(play) == {"roomy": "j1/1/whole"}
    assert [ended.failure.memory for ended in play.failures if ended.failure] == [16_000_000_000]
    too_little(play)
    assert on(play) == {}, "one with a GPU of more than 8 GB has a machine of 16 GB"
    assert play.jobs["j1"].state is JobState.FAILED
    assert "No worker that could render it has more than 8.0 GB" in play.jobs["j1"].error


def test_that_the_machine_s_memory_was_too_small_is_known_after_a_restart() -> None:
    play = farm_of(gpu("few", 24, host=16))
    planned(play)
    play.join(gpu("roomy", 8, host=64))
    play.fail(play.orders()[0], Cause.OUT_OF_MEMORY, TOO_LITTLE, host=True)
    restart(play, set())
    play.join(gpu("tiny", 80, host=8))
    assert on(play) == {}
    play.join(gpu("roomy", 8, host=64))
    assert on(play) == {"roomy": "j1/1/whole"}


def test_a_task_that_lacked_both_memories_goes_where_there_is_more_of_both() -> None:
    play = farm_of(gpu("few", 24, host=16))
    planned(play)
    play.join(gpu("roomy", 8, host=64))
    play.fail(play.orders()[0], Cause.OUT_OF_MEMORY, TOO_LITTLE, host=True)
    assert on(play) == {"roomy": "j1/1/whole"}
    play.join(gpu("both", 12, host=32))
    too_little(play)
    assert on(play) == {"both": "j1/1/whole"}


def test_the_machine_s_memory_may_be_found_on_another_render_class() -> None:
    play = farm_of(gpu("few", 24, SMALL, host=16))
    planned(play, other_class=True, tiles="2x1", device="optix")
    play.join(gpu("roomy", 8, LARGE, host=64))
    while not play.failures:
        [order] = [order for order in play.orders() if play.where[order.attempt_id] == "few"]
        play.fail(order, Cause.OUT_OF_MEMORY, TOO_LITTLE, host=True)
    assert set(on(play)) == {"roomy"}


def test_an_inspection_that_no_worker_has_the_memory_for_ends_the_job() -> None:
    play = farm_of(of_size("w1", 8), of_size("w2", 64))
    play.submit(frames="1")
    too_little(play)
    play.lose("w2")
    wait(play, 62)
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.jobs["j1"].error.startswith("It does not fit into 8.0 GB of memory")


# --- crash and hang ---


@pytest.mark.parametrize("cause", [Cause.CRASH, Cause.HANG])
def test_a_third_failure_is_the_tasks_own_and_tells_the_telling_line_of_the_log(cause: Cause) -> None:
    play = farm_of(worker("w1"), worker("w2"), worker("w3"))
    planned(play)
    names = []
    while play.sent:
        [order] = play.orders()
        names.append(play.where[order.attempt_id])
        fail(play, order, cause, "Reading a.blend\nERROR: cannot read texture “bark.exr”\n\n")
    assert sorted(names) == ["w1", "w2", "w3"]
    assert play.frames["j1", 1].error == (
        "Blender crashed. (3 tries) Its log ends: “ERROR: cannot read texture “bark.exr””"
    )


def test_a_long_line_of_a_log_is_cut() -> None:
    play = farm_of(worker("w1"))
    planned(play)
    while play.sent:
        fail(play, play.orders()[0], Cause.CRASH, "x" * 1000)
    assert len(play.frames["j1", 1].error) < 260


def test_of_other_causes_the_log_is_not_told() -> None:
    play = farm_of(worker("w1"))
    planned(play)
    while play.sent:
        fail(play, play.orders()[0], Cause.BAD_RESULT, "Saved")
    assert play.frames["j1", 1].error == "Blender crashed. (3 tries)"


# --- lost, preempted, storage ---


def test_a_worker_that_is_taken_back_costs_nothing_however_often() -> None:
    play = farm_of(worker("w1"))
    planned(play)
    for _ in range(40):
        [order] = play.orders()
        fail(play, order, Cause.PREEMPTED)
        assert play.attempts[order.attempt_id] is AttemptState.LOST
    play.finish_all()
    assert play.jobs["j1"].state is JobState.DONE


def test_a_task_whose_worker_died_is_tried_elsewhere() -> None:
    play = farm_of(worker("w1"), worker("w2"))
    planned(play)
    [first] = on(play)
    play.lose(first)
    play.join(worker(first))
    assert set(on(play)) == {"w1", "w2"} - {first}


def test_the_fifth_worker_that_dies_under_a_task_is_its_own_fault() -> None:
    play = farm_of(*(worker(f"w{number}") for number in range(9)))
    planned(play)
    for _ in range(5):
        [name] = on(play)
        play.lose(name)
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.frames["j1", 1].error.endswith("died. (5 tries)")


def test_a_full_disk_has_minutes_to_be_freed() -> None:
    play = farm_of(worker("w1"))
    planned(play)
    for delay in (5, 10, 20, 40, 60, 60, 60):
        play.fail(play.orders()[0], Cause.DISK_FULL, "The disk is full.")
        play.now += delay - 0.1
        play.assign()
        assert not play.sent
        play.now += 0.2
        play.assign()
        assert play.sent
    play.fail(play.orders()[0], Cause.DISK_FULL, "The disk is full.")
    assert play.jobs["j1"].state is JobState.FAILED
    assert play.frames["j1", 1].error == "The disk is full. (8 tries)"


# --- the end of every task ---


@pytest.mark.parametrize("cause", sorted(set(Cause) - {Cause.STORAGE, Cause.PREEMPTED}))
@pytest.mark.parametrize("other_class", [False, True])
@pytest.mark.parametrize("tiles", ["none", "2x1"])
def test_a_task_that_always_fails_ends_after_few_tries(cause: Cause, other_class: bool, tiles: str) -> None:
    play = farm_of(
        of_size("a", 8), of_size("b", 16), gpu("c", 24), gpu("d", 80, LARGE), of_size("e", 16, SSE)
    )
    planned(play, tiles=tiles, other_class=other_class)
    for _ in range(200):
        if play.jobs["j1"].state in (JobState.FAILED, JobState.DONE):
            break
        if play.sent:
            play.fail(play.orders()[0], cause)
        else:
            play.now += 10
            play.assign()
    assert play.jobs["j1"].state is JobState.FAILED
    assert len(play.failures) <= 24
    assert play.frames["j1", 1].state in (TaskState.FAILED, TaskState.CANCELLED)
