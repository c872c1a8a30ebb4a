"""The core under random orders of events: `Play.check` holds after each, and every job ends."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from farm.dispatch import events as told
from farm.domain.states import JOB_ENDED, JobState
from farm.domain.work import Cause, Failure, Order
from tests.unit.dispatch.play import AVX2, SSE, Play, worker

NAMES = ["w1", "w2", "w3"]


class Farm(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.play = Play()
        self.play.join(worker("w1"))
        self.jobs = 0
        self.old: list[Order] = []

    @precondition(lambda self: self.jobs < 4)
    @rule(frames=st.integers(1, 6), tiles=st.sampled_from(["none", "auto", "2x1", "2x2"]))
    def submit(self, frames: int, tiles: str) -> None:
        self.jobs += 1
        self.play.now += 1
        self.play.submit(f"j{self.jobs}", frames=f"1-{frames}", tiles=tiles)

    @rule(name=st.sampled_from(NAMES), other=st.booleans())
    def join(self, name: str, other: bool) -> None:
        if name not in self.play.core.state.workers:
            self.play.join(worker(name, render_class=SSE if other else AVX2))

    @precondition(lambda self: self.play.core.state.workers)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        self.play.lose(data.draw(st.sampled_from(sorted(self.play.core.state.workers))))

    @precondition(lambda self: self.play.sent)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        order = data.draw(st.sampled_from(self.play.orders()))
        self.old.append(order)
        self.play.succeed(order)

    @precondition(lambda self: self.play.sent)
    @rule(data=st.data(), cause=st.sampled_from(list(Cause)))
    def fail(self, data: st.DataObject, cause: Cause) -> None:
        order = data.draw(st.sampled_from(self.play.orders()))
        self.old.append(order)
        self.play.fail(order, cause)

    @precondition(lambda self: self.old)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        order = data.draw(st.sampled_from(self.old))
        if self.play.where[order.attempt_id] in self.play.core.state.workers:
            self.play.succeed(order)

    @precondition(lambda self: self.play.sent)
    @rule(data=st.data())
    def misroute(self, data: st.DataObject) -> None:
        order = data.draw(st.sampled_from(self.play.orders()))
        self.play.sent.pop(order.attempt_id)
        self.play.tell(told.OrderLost(order.attempt_id))
        self.play.lose(self.play.where[order.attempt_id])

    @rule(number=st.integers(1, 4))
    def cancel(self, number: int) -> None:
        self.play.tell(told.CancelAsked(f"j{number}"))

    @rule(seconds=st.floats(0, 40))
    def wait(self, seconds: float) -> None:
        self.play.now += seconds
        self.play.assign()

    def teardown(self) -> None:
        """With a healthy worker everything comes to an end, whatever classes there were before."""
        play = self.play
        for name in list(play.core.state.workers):
            play.lose(name)
        play.join(worker("w9"))
        for attempt_id in play.cancelled:  # what was killed reports its end
            play.tell(told.Failed(attempt_id, _cancelled()))
        for _ in range(200):
            play.finish_all()
            play.now += 60
            play.assign()
            if not play.sent:
                break
        assert {change.state for change in play.jobs.values()} <= JOB_ENDED
        for job_id, change in play.jobs.items():
            if change.state is JobState.DONE:
                states = {f.state for (j, _), f in play.frames.items() if j == job_id}
                assert states == {"done"}


def _cancelled() -> Failure:
    return Failure(cause=Cause.CANCELLED, what="Cancelled.")


Farm.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestRandomFarm = Farm.TestCase
