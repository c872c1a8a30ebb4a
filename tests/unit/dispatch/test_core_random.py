"""The core under random orders of events: `Play.check` holds after each, and every job ends."""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from farm.dispatch import events as told
from farm.domain.control import Control, Needs
from farm.domain.frames import FrameRange
from farm.domain.scene import Finding, SceneReport, Weight
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Cause, Failure, Order, WorkerInfo
from tests.unit.dispatch.play import AVX2, SSE, Play, report, worker
from tests.unit.dispatch.rebirth import restart, retry

NAMES = ["w1", "w2", "w3"]
CLOTH = Finding(code="cloth", weight=Weight.NOTE, what="A cloth.")
SCENES = {
    "plain": report(),
    "movie": report(movie=True),
    "cloth": report(in_order=(CLOTH,)),
    "cloth movie": report(in_order=(CLOTH,), movie=True),
}
WAYS: list[dict[str, object]] = [
    {"tiles": "none"},
    {"tiles": "auto"},
    {"tiles": "2x1"},
    {"tiles": "2x2", "video": True},
    {"split": "samples:2"},
    {"first": 16},
    {"first": 32, "split": "samples:2"},
]


class Farm(RuleBasedStateMachine):
    def new_play(self) -> Play:
        return Play()

    @initialize(before=st.sampled_from([None, WAYS[-1], WAYS[2]]), crowd=st.integers(0, 3), data=st.data())
    def begin(self, before: dict[str, object] | None, crowd: int, data: st.DataObject) -> None:
        """With a job that is done already, for others to be made of, or without; and some that contend."""
        self.play = self.new_play()
        self.play.join(worker("w1"), worker("w2"))
        self.jobs = 0
        self.gone: dict[str, tuple[WorkerInfo, list[Order]]] = {}
        self.old: list[Order] = []
        self.scenes: dict[str, SceneReport] = {}
        if before is not None:
            self.play.submit(self.next_job(), frames="1-3", **before)
            self.play.finish_all()
        self.play.held = True
        for _ in range(crowd):
            self._submit(data)
        self.play.held = False
        self.play.assign()

    def next_job(self) -> str:
        self.jobs += 1
        self.play.now += 1
        return f"j{self.jobs}"

    @precondition(lambda self: self.jobs < 8)
    @rule(data=st.data(), kind=st.sampled_from(["new", "verify", "add"]))
    def submit(self, data: st.DataObject, kind: str) -> None:
        """A job of its own; or one made of another, done or not, where there is one that left something."""
        left = {job_id for (job_id, _), left in self.play.left.items() if left.pieces or kind == "verify"}
        if kind == "new" or not left:
            self._submit(data)
            return
        other = data.draw(st.sampled_from(sorted(left)))
        plan = self.play.plans[other]
        if kind == "verify":  # of frames that are not there a proof says so
            self.play.verify(other, plan.frames, self.next_job())
        else:
            samples = data.draw(st.sampled_from([64, 64, 100]))
            self.play.add(other, plan.ranges, self.next_job(), samples=samples, frames=plan.frames)

    def _submit(self, data: st.DataObject) -> None:
        way = data.draw(st.sampled_from(WAYS))
        scene = "plain" if "first" in way else data.draw(st.sampled_from(sorted(SCENES)))
        control, owner = self.draw_control(data), data.draw(st.sampled_from(["ann", "bob"]))
        job_id = self.next_job()
        self.scenes[job_id] = SCENES[scene]
        self.play.submit(job_id, control, owner, frames=f"1-{data.draw(st.integers(1, 6))}", **way)

    def draw_control(self, data: st.DataObject) -> Control:
        """A third of them nothing special; else anything, also to come after oneself."""
        if data.draw(st.integers(0, 2)) == 0:
            order, other = st.sampled_from(["turn", "preview", "every:2"]), st.booleans()
            return Control(order=data.draw(order), other_class=data.draw(other))
        known = sorted(self.play.jobs)
        return Control(
            priority=data.draw(st.sampled_from([0, 50, 100])),
            paused=data.draw(st.sampled_from([False, False, False, True])),
            start=data.draw(st.sampled_from([None, None, None, self.play.now + 30])),
            workers=data.draw(st.sampled_from([None, 1, 2])),
            needs=data.draw(
                st.sampled_from([Needs(), Needs(), Needs(), Needs(memory=2), Needs(tags=("rtx",))])
            ),
            after=data.draw(st.sampled_from([(), (), (), tuple(known[-1:]), tuple(known[:2])])),
            frame_wise=data.draw(st.booleans()),
        )

    @precondition(lambda self: self.play.core.state.jobs)
    @rule(data=st.data())
    def control(self, data: st.DataObject) -> None:
        """Priorities, pauses, limits and all the rest are changed while the job runs."""
        job_id = data.draw(st.sampled_from(sorted(self.play.core.state.jobs)))
        self.play.tell(told.ControlAsked(job_id, self.draw_control(data)))

    @precondition(lambda self: self.play.core.state.jobs)
    @rule(data=st.data(), frames=st.sampled_from([None, "1", "2-5", "1-6x2"]))
    def requeue(self, data: st.DataObject, frames: str | None) -> None:
        job_id = data.draw(st.sampled_from(sorted(self.play.core.state.jobs)))
        which = None if frames is None else FrameRange.parse(frames)
        self.play.tell(told.RequeueAsked(job_id, which))
        job = self.play.core.state.jobs.get(job_id)
        of_others = job is not None and job.proves is not None  # what is not there fails again at once
        assert job is None or not job.failed_frames or frames is not None or of_others

    @precondition(lambda self: self.to_retry())
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(self.to_retry()))
        retry(self.play, job_id)
        assert self.play.jobs[job_id].state not in (JobState.FAILED, JobState.CANCELLED)

    def to_retry(self) -> list[str]:
        again = (JobState.FAILED, JobState.CANCELLED)
        return sorted(job_id for job_id, change in self.play.jobs.items() if change.state in again)

    @rule(limits=st.dictionaries(st.sampled_from(["ann", "bob"]), st.integers(1, 2)))
    def limit(self, limits: dict[str, int]) -> None:
        self.play.tell(told.LimitsChanged(limits))

    @precondition(lambda self: self.play.core.state.workers)
    @rule(data=st.data(), why=st.sampled_from(["", "lent from 19:00 to 8:00"]))
    def away(self, data: st.DataObject, why: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.play.core.state.workers)))
        self.play.tell(told.WorkerAway(name, why))

    @rule(data=st.data())
    def restart(self, data: st.DataObject) -> None:
        names = sorted(self.play.core.state.workers)
        restart(self.play, data.draw(st.sets(st.sampled_from(names))) if names else ())

    @rule(name=st.sampled_from(NAMES), other=st.booleans(), big=st.booleans())
    def join(self, name: str, other: bool, big: bool) -> None:
        if name not in self.play.core.state.workers:
            more: dict[str, object] = {"memory": 2, "tags": ("rtx",)} if big else {}
            self.play.join(worker(name, render_class=SSE if other else AVX2, **more))

    @precondition(lambda self: self.play.core.state.workers)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.play.core.state.workers)))
        self.gone[name] = self.play.core.state.workers[name].info, self.orders_on(name)
        self.play.lose(name)

    def orders_on(self, name: str) -> list[Order]:
        return [order for order in self.play.orders() if self.play.where[order.attempt_id] == name]

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        """A worker that was only out of reach, with what it is still at."""
        name = data.draw(st.sampled_from(sorted(self.gone)))
        info, orders = self.gone.pop(name)
        if name not in self.play.core.state.workers:
            self.old += orders
            self.play.come_back(info, *orders)

    @precondition(lambda self: self.play.probed)
    @rule(wrong=st.sampled_from(["", "The GPU is gone."]))
    def probe(self, wrong: str) -> None:
        self.play.answer_probe(self.play.probed[0], wrong)

    def carry_out(self, order: Order) -> None:
        self.play.succeed(order, self.scenes.get(TaskKey.parse(order.task).job_id))

    @precondition(lambda self: self.play.sent)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        order = data.draw(st.sampled_from(self.play.orders()))
        self.old.append(order)
        self.carry_out(order)

    @precondition(lambda self: self.play.sent)
    @rule(count=st.integers(2, 20), until=st.sampled_from([None, TaskKind.FINISH]))
    def go_on(self, count: int, until: TaskKind | None) -> None:
        """So that finishes and movies, and jobs made of other jobs, are reached often."""
        for _ in range(count):
            if self.play.sent and not (until and self.play.orders(until)):
                self.carry_out(self.play.orders()[0])

    @precondition(lambda self: self.play.sent)
    @rule(data=st.data(), cause=st.sampled_from(list(Cause)))
    def fail(self, data: st.DataObject, cause: Cause) -> None:
        order = data.draw(st.sampled_from(self.play.orders()))
        self.old.append(order)
        self.play.fail(order, cause)

    @precondition(lambda self: self.play.orders(TaskKind.FINISH))
    @rule(data=st.data())
    def blame(self, data: st.DataObject) -> None:
        finish = data.draw(st.sampled_from(self.play.orders(TaskKind.FINISH)))
        pieces = data.draw(st.sets(st.integers(0, 4), min_size=1))
        self.old.append(finish)
        self.play.blame(finish, *pieces)

    @precondition(lambda self: self.old)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        order = data.draw(st.sampled_from(self.old))
        if self.play.where[order.attempt_id] in self.play.core.state.workers:
            self.carry_out(order)

    @precondition(lambda self: self.play.sent)
    @rule(data=st.data())
    def misroute(self, data: st.DataObject) -> None:
        order = data.draw(st.sampled_from(self.play.orders()))
        self.play.sent.pop(order.attempt_id)
        self.play.tell(told.OrderLost(order.attempt_id))
        self.play.lose(self.play.where[order.attempt_id])

    @rule(number=st.integers(1, 20))
    def cancel(self, number: int) -> None:
        self.play.tell(told.CancelAsked(f"j{number}"))

    @rule()
    def hold(self) -> None:
        """What happens next is of one turn: nothing is given out until the next wait."""
        self.play.held = True

    @rule(seconds=st.floats(0, 40))
    def wait(self, seconds: float) -> None:
        self.play.held = False
        self.play.now += seconds
        self.play.assign()

    def teardown(self) -> None:
        """With a healthy worker everything comes to an end, whatever classes there were before."""
        play = self.play
        play.held = False
        play.tell(told.LimitsChanged({}))
        for job_id in list(play.core.state.jobs):
            play.tell(told.ControlAsked(job_id, Control()))
        for name in list(play.core.state.workers):
            play.lose(name)
        play.join(worker("w9"))
        for attempt_id in play.cancelled:  # what was killed reports its end
            play.tell(told.Failed(attempt_id, _cancelled()))
        for _ in range(200):
            while play.sent:
                self.carry_out(play.orders()[0])
            play.now += 60
            play.assign()
            if not play.sent and not play.core.state.jobs:
                break
        assert {change.state for change in play.jobs.values()} <= JOB_ENDED
        for job_id, change in play.jobs.items():
            if change.state is JobState.DONE:
                states = {f.state for (j, _), f in play.frames.items() if j == job_id}
                assert states == {"done"}
                movies = [k for k in play.commits if (k.job_id, k.kind) == (job_id, TaskKind.ENCODE)]
                assert bool(movies) == bool(play.plans[job_id].videos)


def _cancelled() -> Failure:
    return Failure(cause=Cause.CANCELLED, what="Cancelled.")


#: So many times as many random orders of events as usual: see CONTRIBUTING.md.
TIMES = int(os.environ.get("TESSERA_RANDOM", "1"))
Farm.TestCase.settings = settings(
    max_examples=300 * TIMES, stateful_step_count=40, deadline=None, derandomize=TIMES == 1
)
TestRandomFarm = Farm.TestCase
