"""Where a frame comes from, and how a job stands: what the head kept of it."""

from __future__ import annotations

import json

import pytest

from farm.domain.costs import Costs
from farm.domain.events import EventKind
from farm.domain.job import LOCAL_OWNER
from farm.domain.plan import Recut
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.views import JobView
from farm.domain.work import Cause, Failure, Progress, RenderClass, Result, Seconds
from farm.service import jobs, provenance, status
from farm.service.context import Farm
from farm.store import aside, head, work
from farm.store import events as event_rows
from farm.store import frames as frame_rows
from farm.store import jobs as job_rows
from farm.store import workers as worker_rows
from tests.unit.dispatch.play import worker
from tests.unit.service.conftest import MANIFEST, SHA, planned

CLASS = RenderClass(blender="5.2.3 e13b728c6880", device="OPTIX", kernel="sm_90")
RESULT = Result(
    render_class=CLASS,
    device_name="NVIDIA H200",
    driver="575.51",
    seed=7,
    peak_memory=3 << 30,
    seconds=Seconds(load=1.0, sync=2.0, render=3.0, save=0.5, total=7.0),
)


def tried(
    farm: Farm,
    key: TaskKey,
    name: str,
    at: float,
    result: Result | None = None,
    failure: Failure | None = None,
) -> None:
    """An attempt of this name that has ended."""
    state = AttemptState.DONE if result else AttemptState.FAILED
    with farm.store.write() as c:
        work.open_task(c, key)
        work.start_attempt(c, name, key, f"w-{name}", at)
        work.change_attempt(
            c,
            name,
            state=state.value,
            ended=at + 7,
            result=result and result.model_dump_json(),
            failure=failure and failure.model_dump_json(),
        )
        if result:
            work.change_task(c, key, state=TaskState.DONE.value)


def frame_is(farm: Farm, job_id: str, frame: int, state: TaskState, *recuts: Recut) -> None:
    told = "[" + ",".join(one.model_dump_json() for one in recuts) + "]"
    with farm.store.write() as c:
        frame_rows.open_frame(c, job_id, frame)
        frame_rows.change(c, job_id, frame, state=state.value, recuts=told if recuts else None)
        job_rows.change(c, job_id, opened=1)


def test_a_frame_knows_who_tried_it_and_what_it_was_made_of(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    frame_is(farm, job_id, 12, TaskState.DONE)
    key = TaskKey(job_id, TaskKind.FRAME, 12)
    tried(farm, key, "bad", 1.0, failure=Failure(cause=Cause.OUT_OF_MEMORY, what="No memory.", cure="More."))
    tried(farm, key, "good", 10.0, RESULT)
    told = provenance.of_frame(farm, LOCAL_OWNER, job_id, 12)
    assert told.files == {"a.blend": SHA}
    assert told.scene_id == MANIFEST.scene_id
    assert told.state is TaskState.DONE
    bad, good = told.attempts
    assert (bad.cause, bad.what, bad.cure, bad.made) == (Cause.OUT_OF_MEMORY, "No memory.", "More.", None)
    assert good.made is not None
    assert (good.made.render_class, good.made.device_name, good.made.driver) == (
        CLASS,
        "NVIDIA H200",
        "575.51",
    )
    assert (good.made.seed, good.made.peak_memory) == (7, 3 << 30)
    assert {name: good.seconds[name] for name in ("load", "sync", "render", "save")} == {
        "load": 1.0,
        "sync": 2.0,
        "render": 3.0,
        "save": 0.5,
    }
    assert told.counts == ("good",)


def test_of_a_frame_that_was_cut_anew_only_the_pieces_that_cover_it_count(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, tiles="2x1")
    frame_is(farm, job_id, 3, TaskState.DONE, Recut(of=1, grid="1x2"))
    for name, tile in (("left", 0), ("top", 2), ("right", 1)):  # of the right one only half was cut anew
        tried(farm, TaskKey(job_id, TaskKind.TILE, 3, tile), name, 1.0 + tile, RESULT)
    tried(farm, TaskKey(job_id, TaskKind.FINISH, 3), "finish", 9.0, RESULT)
    assert provenance.of_frame(farm, LOCAL_OWNER, job_id, 3).counts == ("left", "right", "finish")


def test_of_a_frame_that_was_quicker_whole_no_piece_counts(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    frame_is(farm, job_id, 3, TaskState.DONE, Recut(grid="2x1"))
    tried(farm, TaskKey(job_id, TaskKind.TILE, 3, 0), "piece", 2.0, RESULT)
    tried(farm, TaskKey(job_id, TaskKind.FRAME, 3), "whole", 1.0, RESULT)
    assert provenance.of_frame(farm, LOCAL_OWNER, job_id, 3).counts == ("whole",)


def test_a_frame_that_nobody_has_tried_has_no_attempts(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    told = provenance.of_frame(farm, LOCAL_OWNER, job_id, 24)
    assert (told.state, told.attempts, told.counts) == (TaskState.WAITING, (), ())


# --- time left and price ---


def looked_at(farm: Farm, job_id: str) -> JobView:
    return jobs.get(farm, LOCAL_OWNER, job_id)


def at_work(farm: Farm, job_id: str, frame: int, name: str, price: float = 0.0, sample: int = 0) -> None:
    """A worker renders the frame, and has counted ``sample`` of 8 samples."""
    key = TaskKey(job_id, TaskKind.FRAME, frame)
    with farm.store.write() as c:
        frame_rows.open_frame(c, job_id, frame)
        frame_rows.change(c, job_id, frame, state=TaskState.RUNNING.value)
        work.open_task(c, key)
        work.start_attempt(c, f"now-{name}", key, name, 5.0)
        progress = Progress(phase="rendering", sample=sample, samples=8)
        work.change_attempt(c, f"now-{name}", progress=progress.model_dump_json())
        info = worker(name).model_copy(update={"price": price})
        worker_rows.put(c, info, "busy", f"now-{name}", 5.0)


def measured(farm: Farm, job_id: str, opened: int, **costs: float) -> None:
    with farm.store.write() as c:
        told = Costs.model_validate({"seen": 400.0, "sync": 2.0, "render": 8.0} | costs)
        job_rows.change(c, job_id, costs=told.model_dump_json(), opened=opened)


def test_time_left_and_price_come_from_what_was_measured_and_who_is_at_it(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    job = looked_at(farm, job_id)
    assert (job.left, job.seconds_left, job.price) == (None, None, None)
    at_work(farm, job_id, 1, "w1", price=3.6, sample=4)
    at_work(farm, job_id, 2, "w2", price=3.6)
    measured(farm, job_id, 2, paid=1.5)
    job = looked_at(farm, job_id)
    # 24 frames of 10 s, half of one of them done, on two workers that cost a thousandth a second.
    assert job.left is not None
    assert job.price is not None
    assert job.seconds_left == job.left.likely
    assert job.left.low < 235 / 2 < job.left.high
    assert round(job.price.likely, 6) == 1.735
    assert job.price.low < job.price.likely < job.price.high


def test_a_job_that_nobody_works_on_has_no_time_left_to_tell(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    measured(farm, job_id, 0)
    assert looked_at(farm, job_id).left is None


def test_an_ended_job_costs_what_was_paid(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    measured(farm, job_id, 0, paid=2.5)
    with farm.store.write() as c:
        job_rows.change(c, job_id, state=JobState.CANCELLED.value, waits="a worker")
    job = looked_at(farm, job_id)
    assert job.price is not None
    assert (job.price.low, job.price.high, job.left, job.waits) == (2.5, 2.5, None, "")


def test_pieces_that_are_there_shorten_what_is_left(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, tiles="2x1")
    at_work(farm, job_id, 1, "w1")
    measured(farm, job_id, 1)
    before = looked_at(farm, job_id).left
    tried(farm, TaskKey(job_id, TaskKind.TILE, 1, 0), "half", 1.0, RESULT)
    after = looked_at(farm, job_id).left
    assert before is not None
    assert after is not None
    assert after.likely < before.likely


def test_pieces_of_a_frame_that_was_cut_again_count_by_what_they_are_of_it(farm: Farm, job_id: str) -> None:
    planned(farm, job_id, tiles="2x1")
    at_work(farm, job_id, 1, "w1")
    measured(farm, job_id, 1)
    tried(farm, TaskKey(job_id, TaskKind.TILE, 1, 0), "half", 1.0, RESULT)
    half = looked_at(farm, job_id).left
    recuts = json.dumps([Recut(of=1, grid="2x2").model_dump(mode="json")])
    with farm.store.write() as c:
        frame_rows.change(c, job_id, 1, recuts=recuts)
    for tile in (2, 3):
        tried(farm, TaskKey(job_id, TaskKind.TILE, 1, tile), f"quarter-{tile}", 1.0, RESULT)
    most = looked_at(farm, job_id).left
    before = 24  # frames; half a frame and a half of the other half are there
    assert half is not None
    assert most is not None
    assert most.likely / half.likely == pytest.approx((before - 0.75) / (before - 0.5), abs=1e-4)


# --- workers ---


def test_a_worker_that_is_away_or_set_aside_says_why(farm: Farm) -> None:
    with farm.store.write() as c:
        head.take(c, farm.now())
        lent = worker("lent").model_copy(update={"away": "lent from 19:00 to 8:00"})
        worker_rows.put(c, lent, "idle", None, 1.0)
        for name in ("ill", "picky", "well"):
            worker_rows.put(c, worker(name), "idle", None, 1.0)
        aside.put(c, "ill", None, "3 tasks failed on it.", 1, 1.0)
        aside.put(c, "picky", "k3m9x2ab", "Frames 1 and 2 crashed on it.", 0, 1.0)
    seen = {one.info.worker_id: (one.state, one.why) for one in status.pulse(farm, LOCAL_OWNER).workers}
    assert seen == {
        "lent": ("away", "lent from 19:00 to 8:00"),
        "ill": ("aside", "3 tasks failed on it."),
        "picky": ("idle", "It is given nothing of job k3m9x2ab: Frames 1 and 2 crashed on it."),
        "well": ("idle", ""),
    }


def test_a_worker_that_cannot_start_is_told_of_until_it_can_or_another_head_looks(farm: Farm) -> None:
    def seen() -> list[tuple[str, str, float]]:
        return [(one.worker_id, one.why, one.since) for one in status.pulse(farm, LOCAL_OWNER).failed]

    with farm.store.write() as c:
        head.take(c, farm.now())
        worker_rows.failed(c, "w1", "No Blender is here.", 1.0)
        worker_rows.failed(c, "w2", "No Blender is here.", 2.0)
        worker_rows.failed(c, "w2", "FARM_WORKER_PRICE is “x”.", 3.0)
    assert seen() == [("w1", "No Blender is here.", 1.0), ("w2", "FARM_WORKER_PRICE is “x”.", 3.0)]
    with farm.store.write() as c:
        worker_rows.failed(c, "w1", None, 4.0)
    assert [name for name, _, _ in seen()] == ["w2"]
    with farm.store.write() as c:
        worker_rows.drop_all(c)
    assert seen() == []


def test_a_job_tells_what_was_cut_again_the_latest_first(farm: Farm, job_id: str) -> None:
    planned(farm, job_id)
    with farm.store.write() as c:
        for frame in (20, 24):
            data: dict[str, object] = {"frame": frame, "pieces": 4, "why": f"worker {frame} is slow"}
            event_rows.append(c, float(frame), EventKind.FRAME_RECUT, job_id, data)
        event_rows.append(c, 30.0, EventKind.FRAME_RECUT, "another", {"frame": 1, "why": "no"})
    told = looked_at(farm, job_id).recuts
    assert [(one.frame, one.why) for one in told] == [(24, "worker 24 is slow"), (20, "worker 20 is slow")]
    assert jobs.listed(farm, LOCAL_OWNER)[0].recuts == ()
