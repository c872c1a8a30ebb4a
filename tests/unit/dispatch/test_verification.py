"""Jobs that verify frames of another: in the class of those frames, or not at all."""

from __future__ import annotations

import pytest

from farm.dispatch import events as told
from farm.dispatch.state import Earlier
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKind
from farm.domain.work import Cause, Proof
from tests.unit.dispatch.play import AVX2, SSE, Play, good_result, worker
from tests.unit.dispatch.rebirth import retry


@pytest.fixture
def play() -> Play:
    """Two workers of two classes; frames 1 and 2 of job j1 were rendered by the first, 3 by the second."""
    play = Play()
    play.join(worker("w1"), worker("w2", render_class=SSE))
    play.left |= {("j1", 1): Earlier(AVX2), ("j1", 2): Earlier(AVX2), ("j1", 3): Earlier(SSE)}
    return play


def test_it_is_not_inspected_and_each_frame_is_verified_in_its_own_class(play: Play) -> None:
    play.verify("j1", "1-3")
    assert play.jobs["v1"].state is JobState.RENDERING
    assert {order.task: play.where[order.attempt_id] for order in play.orders()} == {
        "v1/1/verify": "w1",
        "v1/3/verify": "w2",
    }
    play.finish_all()
    assert play.jobs["v1"].state is JobState.DONE
    assert {(p.job_id, p.by_job, p.proof.frame, p.proof.exact) for p in play.proofs} == {
        ("j1", "v1", 1, True),
        ("j1", "v1", 2, True),
        ("j1", "v1", 3, True),
    }
    assert play.frames["v1", 1].seconds == 2.0


def test_an_order_says_in_which_class_it_is_to_be_rendered(play: Play) -> None:
    play.verify("j1", "3")
    [order] = play.orders(TaskKind.VERIFY)
    assert (order.render_class, order.pieces) == (SSE, ())


def test_a_frame_that_differs_is_told_and_the_job_is_done_all_the_same(play: Play) -> None:
    play.verify("j1", "1-2")
    [first] = play.orders()
    play.succeed(first, proof=good_result(first, AVX2, differing=7).proof)
    play.finish_all()
    assert [(p.proof.frame, p.proof.exact) for p in play.proofs] == [(1, False), (2, True)]
    assert play.jobs["v1"].state is JobState.DONE


def test_without_a_worker_of_the_class_the_frame_fails_after_a_minute(play: Play) -> None:
    play.lose("w2")
    play.verify("j1", "1-3")
    play.finish_all()
    assert play.frames["v1", 2].state is TaskState.DONE
    play.assign()
    play.now += 59
    play.assign()
    assert play.jobs["v1"].state is JobState.RENDERING
    play.now += 1
    play.assign()
    assert play.frames["v1", 3].state is TaskState.FAILED
    assert play.frames["v1", 3].error == (
        "No worker of this farm is Blender 5.2.3 abc, CPU sse42, as the one that rendered this frame was, "
        "and only there would it come out the same. Start such a worker, then verify it again."
    )
    assert play.jobs["v1"].state is JobState.FAILED
    assert play.jobs["v1"].cure == "The other frames were compared."


def test_a_class_is_waited_for_once_and_not_with_each_frame(play: Play) -> None:
    play.lose("w2")
    play.left |= {("j1", number): Earlier(SSE) for number in range(3, 8)}
    play.verify("j1", "1,3-7")
    play.finish_all()
    play.assign()
    play.now += 60
    for _ in range(3):
        play.assign()
    assert [play.frames["v1", number].state for number in (3, 4)] == [TaskState.FAILED] * 2
    play.join(worker("w2", render_class=SSE))
    play.finish_all()
    assert play.frames["v1", 7].state is TaskState.DONE


def test_a_worker_of_the_class_that_comes_back_in_time_verifies(play: Play) -> None:
    play.lose("w2")
    play.verify("j1", "3")
    play.assign()
    play.now += 59
    play.assign()
    play.join(worker("w2", render_class=SSE))
    play.finish_all()
    assert play.jobs["v1"].state is JobState.DONE


def test_with_no_worker_at_all_it_waits(play: Play) -> None:
    play.lose("w1")
    play.lose("w2")
    play.verify("j1", "1")
    play.now += 10_000
    play.assign()
    assert play.jobs["v1"].state is JobState.WAITING
    play.join(worker("w1"))
    play.finish_all()
    assert play.jobs["v1"].state is JobState.DONE


def test_a_frame_that_the_other_job_does_not_have_fails_at_once(play: Play) -> None:
    play.verify("j1", "2,9")
    play.finish_all()
    play.assign()
    assert play.frames["v1", 9].error == "Job j1 has no finished frame 9 to compare with."
    assert play.frames["v1", 2].state is TaskState.DONE
    assert play.jobs["v1"].state is JobState.FAILED


def test_a_job_of_frames_that_nobody_can_verify_ends_after_the_first_ones(play: Play) -> None:
    play.verify("j2", "1-1000")
    for _ in range(20):
        play.assign()
    assert play.jobs["v1"].state is JobState.FAILED
    assert play.jobs["v1"].error.startswith("The first 3 frames failed, so the others were not tried.")


def test_frames_that_wait_for_their_class_do_not_fill_the_memory(play: Play) -> None:
    play.lose("w2")
    play.left |= {("j1", number): Earlier(SSE) for number in range(1, 501)}
    play.verify("j1", "1-500")
    for _ in range(50):
        play.now += 1
        play.assign()
    assert len(play.core.state.jobs["v1"].frames) == 1  # as many as there are workers
    assert len(play.core.state.jobs["v1"].ahead) <= 256


def test_a_proof_of_another_class_is_refused(play: Play) -> None:
    play.verify("j1", "1")
    [order] = play.orders()
    play.succeed(order, proof=good_result(order, SSE).proof)
    assert play.failures[-1].failure is not None
    assert play.failures[-1].failure.cause is Cause.WRONG_CLASS
    assert play.proofs == []


@pytest.mark.parametrize("frame", [None, 2])
def test_a_result_without_the_proof_of_its_frame_is_refused(play: Play, frame: int | None) -> None:
    play.verify("j1", "1")
    proof = None if frame is None else Proof(frame=frame, render_class=AVX2, rows=())
    play.succeed(play.orders()[0], proof=proof)
    assert play.failures[-1].failure is not None
    assert play.failures[-1].failure.what == "The worker sent nothing for frame 1, verifying."


def test_a_gpu_worker_whose_cpu_is_of_another_class_is_asked_once_and_it_costs_no_try() -> None:
    play = Play()
    play.join(worker("g1", device="OPTIX"))
    play.left["j1", 1] = Earlier(AVX2)
    play.verify("j1", "1", device="cpu")
    [order] = play.orders()
    play.fail(order, Cause.WRONG_CLASS)
    assert not play.sent
    play.join(worker("w1"))
    play.finish_all()
    assert play.jobs["v1"].state is JobState.DONE


def test_crashes_and_lost_workers_are_tried_again_and_a_cancelled_job_ends(play: Play) -> None:
    play.verify("j1", "1-2")
    play.fail(play.orders()[0])
    play.lose("w1")
    play.join(worker("w1"))
    [order] = play.orders()
    assert order.task == "v1/1/verify"
    play.tell(told.CancelAsked("v1"))
    assert play.jobs["v1"].state is JobState.CANCELLED
    assert play.attempts[order.attempt_id] is AttemptState.CANCELLED


def test_a_proof_that_is_asked_for_again_fails_again_where_its_class_is_still_gone() -> None:
    play = Play()
    play.join(worker("w1"))
    play.submit(frames="1", tiles="none")
    play.finish_all()
    play.lose("w1")
    play.join(worker("w2", render_class=SSE))
    play.verify("j1", "1")
    for _ in range(3):
        for _ in range(2):  # it is noticed, and then waited for
            play.now += 61
            play.assign()
        assert play.jobs["v1"].state is JobState.FAILED
        assert play.jobs["v1"].error.startswith("Frame 1: No worker of this farm is Blender 5.2.3 abc")
        retry(play, "v1")
