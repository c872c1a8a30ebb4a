"""What is asked of a job's dispatch: it becomes an intent, and shows at once."""

from __future__ import annotations

import time

import pytest

from farm.domain.control import Control, ControlChange, Needs
from farm.domain.errors import BadInput, Conflict, NotFound, UsageError
from farm.domain.job import LOCAL_OWNER, JobSpec
from farm.domain.states import JobState, TaskState
from farm.domain.views import FramesRequest, JobView, LimitRequest
from farm.service import control, jobs, limits
from farm.service.context import Farm
from farm.store import events
from farm.store import frames as frame_rows
from farm.store import jobs as job_rows
from farm.store import users as user_rows
from farm.store import workers as worker_rows
from farm.store.events import IntentKind
from tests.unit.dispatch.play import worker
from tests.unit.service.conftest import planned


def asked(farm: Farm, job_id: str, **changes: object) -> JobView:
    return control.change(farm, LOCAL_OWNER, job_id, ControlChange.model_validate(changes))


def intents(farm: Farm, job_id: str | None = None) -> list[tuple[IntentKind, dict[str, object]]]:
    with farm.store.read() as connection:
        return [(one.kind, one.data) for one in events.waiting_intents(connection, job_id)]


def in_state(farm: Farm, job_id: str, state: JobState) -> None:
    with farm.store.write() as connection:
        job_rows.change(connection, job_id, state=state.value)


def submit(farm: Farm, **wishes: object) -> JobView:
    """Another job of the scene that is there."""
    scene = jobs.listed(farm, LOCAL_OWNER)[0].scene_id
    spec = JobSpec(name="x", scene_id=scene, control=Control.model_validate(wishes))
    return jobs.submit(farm, LOCAL_OWNER, spec)


def test_a_change_shows_at_once_and_is_left_for_the_dispatcher_whole(farm: Farm, job_id: str) -> None:
    assert asked(farm, job_id, priority=80).control.priority == 80
    view = asked(farm, job_id, paused=True)
    assert (view.control.priority, view.control.paused) == (80, True)
    assert jobs.get(farm, LOCAL_OWNER, job_id).control == view.control
    assert jobs.listed(farm, LOCAL_OWNER)[0].control == view.control
    last = intents(farm)[-1]
    assert last == (IntentKind.CONTROL, Control(priority=80, paused=True).model_dump(mode="json"))
    with farm.store.read() as connection:  # only the dispatcher writes it
        row = job_rows.get(connection, job_id)
        assert row is not None
        assert row.control == Control()


def test_what_is_so_already_asks_nothing_of_the_dispatcher(farm: Farm, job_id: str) -> None:
    asked(farm, job_id, priority=50, paused=False)
    assert intents(farm) == []


def test_a_limit_and_a_start_are_taken_back_with_0(farm: Farm, job_id: str) -> None:
    later = time.time() + 3600
    view = asked(farm, job_id, workers=3, start=later)
    assert (view.control.workers, view.control.start, view.notes) == (3, later, ())
    view = asked(farm, job_id, workers=0, start=0)
    assert (view.control.workers, view.control.start, view.notes) == (None, None, ())


@pytest.mark.parametrize("priority", [-1, 101])
def test_a_priority_out_of_range_is_refused(farm: Farm, job_id: str, priority: int) -> None:
    with pytest.raises(UsageError, match=f"There is no priority {priority}") as refused:
        asked(farm, job_id, priority=priority)
    assert refused.value.cure == "Choose one from 0 (last) to 100 (first)."
    assert intents(farm) == []


@pytest.mark.parametrize(
    ("state", "cure"),
    [
        (JobState.DONE, "Render it once more with: farm rerender {}"),
        (JobState.FAILED, "Go on with what is missing, then change it: farm retry {}"),
        (JobState.CANCELLED, "Go on with what is missing, then change it: farm retry {}"),
    ],
)
def test_a_job_that_has_ended_cannot_be_changed_and_the_cure_is_told(
    farm: Farm, job_id: str, state: JobState, cure: str
) -> None:
    in_state(farm, job_id, state)
    with pytest.raises(Conflict, match=f"Job {job_id} is {state} already") as refused:
        asked(farm, job_id, paused=True)
    assert refused.value.cure == cure.format(job_id)


def test_a_job_that_is_being_cancelled_is_neither_changed_nor_requeued(farm: Farm, job_id: str) -> None:
    jobs.cancel(farm, LOCAL_OWNER, job_id)
    for call in (
        lambda: asked(farm, job_id, paused=True),
        lambda: control.retry(farm, LOCAL_OWNER, job_id),
        lambda: control.requeue(farm, LOCAL_OWNER, job_id, FramesRequest(frames="1")),
    ):
        with pytest.raises(Conflict, match="is being cancelled"):
            call()


def test_a_paused_job_can_still_be_cancelled(farm: Farm, job_id: str) -> None:
    asked(farm, job_id, paused=True)
    assert jobs.cancel(farm, LOCAL_OWNER, job_id).cancelling
    assert [kind for kind, _ in intents(farm)] == [IntentKind.CONTROL, IntentKind.CANCEL]


def test_a_change_alone_is_no_cancelling(farm: Farm, job_id: str) -> None:
    assert not asked(farm, job_id, paused=True).cancelling


def test_to_wait_for_a_job_that_is_not_here_is_refused_by_name(farm: Farm, job_id: str) -> None:
    for call in (lambda: asked(farm, job_id, after=("nope",)), lambda: submit(farm, after=("nope",))):
        with pytest.raises(BadInput, match="There is no job nope on this farm to wait for"):
            call()
    assert len(jobs.listed(farm, LOCAL_OWNER)) == 1


def test_jobs_that_wait_for_each_other_are_refused_with_the_chain(farm: Farm, job_id: str) -> None:
    second = submit(farm, after=(job_id,)).id
    third = submit(farm).id
    asked(farm, third, after=(second,))  # not taken up yet, and counts all the same
    with pytest.raises(BadInput) as refused:
        asked(farm, job_id, after=(third,))
    assert refused.value.what == (
        f"Job {job_id} cannot wait for job {third}: "
        f"{third} waits for {second}, and {second} waits for {job_id}."
    )
    with pytest.raises(BadInput, match=f"Job {job_id} cannot wait for itself"):
        asked(farm, job_id, after=(job_id,))
    assert asked(farm, third, after=()).control.after == ()
    assert asked(farm, job_id, after=(third,)).control.after == (third,)


def test_a_chain_over_a_cancelled_job_counts_as_it_may_be_retried(farm: Farm, job_id: str) -> None:
    second = submit(farm, after=(job_id,)).id
    in_state(farm, second, JobState.CANCELLED)
    with pytest.raises(BadInput, match="cannot wait for job"):
        asked(farm, job_id, after=(second,))
    in_state(farm, second, JobState.DONE)
    assert asked(farm, job_id, after=(second,)).control.after == (second,)


def test_what_may_surprise_is_told_with_the_answer(farm: Farm, job_id: str) -> None:
    with farm.store.write() as connection:
        info = worker("w1").model_copy(update={"memory": 16 << 30, "tags": ("linux",)})
        worker_rows.put(connection, info, "idle", None, 1.0)
    assert submit(farm, start=time.time() - 5).notes == (
        "The start that was asked for is over: the job begins as soon as it is its turn.",
    )
    assert submit(farm, needs=Needs(memory=16 << 30, tags=("linux",))).notes == ()
    assert asked(farm, job_id, needs=Needs(memory=24 << 30, tags=("rtx", "linux"))).notes == (
        "No worker of the farm has 24 GiB of memory and the tags “linux” and “rtx” now: "
        "the job waits for one that does.",
    )
    assert asked(farm, job_id, priority=1).notes == ()  # it was told of before
    in_state(farm, job_id, JobState.FAILED)
    assert submit(farm, after=(job_id,)).notes == (
        f"Job {job_id}, to be waited for, is failed: this one waits until it is done after all "
        f"(farm retry {job_id}).",
    )


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.CANCELLED])
def test_a_job_that_came_to_nothing_goes_on(farm: Farm, job_id: str, state: JobState) -> None:
    in_state(farm, job_id, state)
    assert control.retry(farm, LOCAL_OWNER, job_id).retrying
    assert control.retry(farm, LOCAL_OWNER, job_id).retrying
    assert intents(farm) == [(IntentKind.RETRY, {})]
    assert asked(farm, job_id, priority=90).control.priority == 90  # by then it is open again
    view = jobs.cancel(farm, LOCAL_OWNER, job_id)
    assert not view.retrying


def test_a_job_that_is_done_is_not_retried(farm: Farm, job_id: str) -> None:
    in_state(farm, job_id, JobState.DONE)
    with pytest.raises(Conflict, match="is done: nothing of it is missing") as refused:
        control.retry(farm, LOCAL_OWNER, job_id)
    assert refused.value.cure == f"Render it once more with: farm rerender {job_id}"


def frames_in(farm: Farm, job_id: str, **states: TaskState) -> None:
    with farm.store.write() as connection:
        for name, state in states.items():
            number = int(name.removeprefix("f"))
            frame_rows.open_frame(connection, job_id, number)
            frame_rows.change(connection, job_id, number, state=state.value)
        job_rows.change(connection, job_id, opened=len(states))


def test_a_running_job_takes_its_failed_frames_again(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    with pytest.raises(Conflict, match=f"No frame of job {job_id} has failed") as refused:
        control.retry(farm, LOCAL_OWNER, job_id)
    assert refused.value.cure.endswith(f"farm retry {job_id} --frames 3-7")
    frames_in(farm, job_id, f1=TaskState.DONE, f2=TaskState.FAILED)
    control.retry(farm, LOCAL_OWNER, job_id)
    assert intents(farm) == [(IntentKind.REQUEUE, {})]


def test_frames_that_run_or_failed_are_begun_again_by_name(farm: Farm, job_id: str) -> None:
    with pytest.raises(Conflict, match="has no frames yet"):
        control.requeue(farm, LOCAL_OWNER, job_id, FramesRequest(frames="1"))
    planned(farm, job_id)
    frames_in(farm, job_id, f1=TaskState.DONE, f2=TaskState.RUNNING)
    with pytest.raises(BadInput, match="has no frame 25"):
        control.requeue(farm, LOCAL_OWNER, job_id, FramesRequest(frames="2,25"))
    with pytest.raises(Conflict, match="None of the frames 1,3 of job") as refused:
        control.requeue(farm, LOCAL_OWNER, job_id, FramesRequest(frames="1,3"))
    assert refused.value.cure.endswith(f"farm rerender {job_id} --frames 1,3")
    control.requeue(farm, LOCAL_OWNER, job_id, FramesRequest(frames="1-3"))
    assert intents(farm) == [(IntentKind.REQUEUE, {"frames": "1-3"})]


def test_frames_of_a_job_that_has_ended_are_rendered_anew_instead(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    in_state(farm, job_id, JobState.FAILED)
    with pytest.raises(Conflict, match="has ended: it is failed") as refused:
        control.requeue(farm, LOCAL_OWNER, job_id, FramesRequest(frames="3-7"))
    assert refused.value.cure == (
        f"Go on with all that is missing: farm retry {job_id}. "
        f"Render frames of it anew with: farm rerender {job_id} --frames 3-7"
    )


def test_an_unknown_job_is_named(farm: Farm) -> None:
    for call in (
        lambda: asked(farm, "nope", paused=True),
        lambda: control.retry(farm, LOCAL_OWNER, "nope"),
        lambda: control.requeue(farm, LOCAL_OWNER, "nope", FramesRequest()),
    ):
        with pytest.raises(NotFound, match="There is no job nope"):
            call()


def test_users_have_limits_until_they_are_taken_back(farm: Farm) -> None:
    assert [(user.id, user.workers) for user in limits.listed(farm, LOCAL_OWNER)] == [("local", None)]
    assert limits.put(farm, LOCAL_OWNER, "local", LimitRequest(workers=4)).workers == 4
    with farm.store.read() as connection:
        assert user_rows.limits(connection) == {"local": 4}
    assert limits.put(farm, LOCAL_OWNER, "local", LimitRequest()).workers is None
    with pytest.raises(NotFound, match="There is no user nobody"):
        limits.put(farm, LOCAL_OWNER, "nobody", LimitRequest(workers=1))
