"""Jobs that size themselves under random orders of events: frames take long, workers idle, ways race."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from farm.dispatch import events as told
from farm.domain.task import TaskKey, TaskKind
from farm.domain.work import Order, Progress, Seconds
from tests.unit.dispatch.play import report, worker
from tests.unit.dispatch.test_core_random import NAMES, TIMES, Farm

PLAIN = report()
_RENDERS = (TaskKind.FRAME, TaskKind.TILE)


class SizingFarm(Farm):
    """The farm of the other random tests, with jobs that are all cut as the dispatcher sees fit."""

    @initialize(frames=st.integers(1, 6), done=st.integers(0, 5), seconds=st.sampled_from([0.0, 100.0]))
    def begin(self, frames: int, done: int, seconds: float) -> None:
        """Three workers, and a job that may have idle ones and a frame that takes long."""
        self.play = self.new_play()
        self.jobs, self.gone, self.old, self.scenes = 0, {}, [], {}
        self.all_join()
        job_id = self.next_job()
        self.scenes[job_id] = PLAIN
        self.play.submit(job_id, frames=f"1-{frames}", tiles="auto")
        for _ in range(done):
            if self.play.sent:
                self.carry_out(self.play.orders()[-1])
        self.wait_long(seconds)

    def _submit(self, data: st.DataObject) -> None:
        job_id = self.next_job()
        self.scenes[job_id] = PLAIN
        self.play.submit(job_id, frames=f"1-{data.draw(st.integers(1, 6))}", tiles="auto")

    def carry_out(self, order: Order) -> None:
        """A whole frame takes 42 s, a piece less, a finish 3."""
        scene = self.scenes.get(TaskKey.parse(order.task).job_id)
        render = {TaskKind.FRAME: 40.0, TaskKind.TILE: 10.0}.get(order.kind, 1.0)
        self.play.succeed(order, scene, seconds=Seconds(sync=1.0, render=render, total=render + 2))

    @rule(seconds=st.sampled_from([60.0, 300.0, 3000.0]))
    def wait_long(self, seconds: float) -> None:
        self.play.held = False
        self.play.now += seconds
        self.play.assign()

    @precondition(lambda self: any(order.kind in _RENDERS for order in self.play.orders()))
    @rule(data=st.data(), sample=st.integers(1, 64))
    def progress(self, data: st.DataObject, sample: int) -> None:
        orders = [order for order in self.play.orders() if order.kind in _RENDERS]
        order = data.draw(st.sampled_from(orders))
        self.play.now += 1
        count = Progress(phase="rendering", sample=sample, samples=64)
        self.play.tell(told.Progressed(order.attempt_id, count))

    @rule()
    def all_join(self) -> None:
        for name in NAMES:
            if name not in self.play.core.state.workers:
                self.play.join(worker(name))


SizingFarm.TestCase.settings = settings(
    max_examples=80 * TIMES, stateful_step_count=40, deadline=None, derandomize=TIMES == 1
)
TestSizingFarm = SizingFarm.TestCase


def test_the_random_farm_does_come_to_revisions() -> None:
    """Else it would hold that nothing goes wrong with them because there are none."""
    farm = SizingFarm()
    farm.begin(frames=4, done=4, seconds=300.0)
    assert any(farm.play.recuts.values())
