"""Runs of tiny traces, whose ends can be told beforehand; and what holds of every run."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest

from farm.dispatch import events as told
from farm.dispatch import instructions as do
from farm.domain.errors import TesseraError
from farm.domain.states import AttemptState, JobState, TaskState
from farm.domain.task import TaskKind
from farm.simulate.estimates import Estimates
from farm.simulate.heads import POLICIES, START, OurHead
from farm.simulate.plain import PlainHead
from farm.simulate.report import Outcome, outcome, simulate
from farm.simulate.run import Run
from farm.simulate.scenario import Scenario, Submitted, scenario
from farm.simulate.trace import Failures, Kind, Trace, mix, mixes
from tests.unit.dispatch.play import Play
from tests.unit.simulate.traces import group, tiny


def result(drawn: Scenario, policy: str) -> Outcome:
    return simulate(drawn, policy)[0]


class CheckedHead(OurHead):
    """Ours, with all that must hold of the core checked after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.play = Play()
        self.play.core = self.core

    def submit(self, job: Submitted, now: float) -> Sequence[do.Instruction]:
        out = super().submit(job, now)
        self.play.jobs_seen[job.id] = self.core.state.jobs[job.id]
        self.play.controls[job.id] = job.control
        return self._checked(out, now)

    def hear(self, event: told.Event, now: float) -> Sequence[do.Instruction]:
        if isinstance(event, told.WorkerProbed) and event.worker_id in self.play.probed:
            self.play.probed.remove(event.worker_id)
        return self._checked(super().hear(event, now), now)

    def assign(self, now: float) -> Sequence[do.Instruction]:
        return self._checked(super().assign(now), now)

    def _checked(self, out: Sequence[do.Instruction], now: float) -> Sequence[do.Instruction]:
        self.play.now = START + now
        self.play.apply(list(out))
        return out


@pytest.mark.parametrize("policy", POLICIES)
def test_one_worker_inspects_then_renders_one_frame_after_the_other(policy: str) -> None:
    # The scene is opened for its inspection, in 4 s + 1 s, and stays open: 3 frames of 11 s.
    assert result(tiny(group(frames=3)), policy).makespan == pytest.approx(5 + 33, abs=0.1)


@pytest.mark.parametrize("policy", POLICIES)
def test_each_worker_opens_the_scene_once(policy: str) -> None:
    # One goes on after its inspection: 2 frames; the other opens the scene, and renders 2 as well.
    came = result(tiny(group(frames=4, cut=False), workers=2), policy if policy != "fixed-chunks" else "ours")
    assert came.makespan == pytest.approx(5 + 4 + 22, abs=0.1)
    assert came.loading == pytest.approx(8)
    assert came.syncing == pytest.approx(8)


def test_a_chunk_is_one_workers() -> None:
    # 20 frames in two chunks of ten on three workers: the third has nothing to do.
    came = result(tiny(group(frames=20), workers=3), "fixed-chunks")
    assert came.makespan == pytest.approx(5 + 4 + 110, abs=0.2)
    assert result(tiny(group(frames=20), workers=3), "whole-fifo").makespan < 90


@pytest.mark.parametrize("policy", ["whole-fifo", "fixed-chunks"])
def test_first_come_is_first_served(policy: str) -> None:
    long, short = group("long", frames=100), group("short", frames=1, arrival=10, user="boris")
    drawn = tiny(long, short)
    _, measured = simulate(drawn, policy)
    assert measured.ends["longx1"][0] == pytest.approx(5 + 1100, abs=1.5)
    assert measured.ends["shortx1"][0] > measured.ends["longx1"][0]


def test_ours_lets_a_short_job_of_another_user_pass() -> None:
    long, short = group("long", frames=100), group("short", frames=1, arrival=10, user="boris")
    drawn = tiny(long, short, workers=2)
    _, ours = simulate(drawn, "ours")
    _, fifo = simulate(drawn, "whole-fifo")
    assert ours.ends["shortx1"][0] < 60 < 500 < fifo.ends["shortx1"][0]


@pytest.mark.parametrize("policy", POLICIES)
def test_frames_in_order_are_rendered_by_one(policy: str) -> None:
    drawn = tiny(group(frames=12, in_order=True, cut=False), workers=4)
    came, measured = simulate(drawn, policy)
    renders = [spell for spell in measured.spells.values() if spell.key.kind is TaskKind.FRAME]
    assert [spell.key.frame for spell in renders] == list(range(1, 13))
    assert came.makespan == pytest.approx(5 + 12 * 11, abs=0.3)


def test_a_still_is_cut_and_finished() -> None:
    drawn = tiny(group(frames=1, render=400), workers=4)
    came, measured = simulate(drawn, "ours")
    assert measured.ends == {"filmx1": (pytest.approx(came.makespan), JobState.DONE)}
    assert came.cut == 1
    # Three of the four workers open the scene first. The bound: 5 + 2 + 100 + 1 + 6.
    assert came.bound == pytest.approx(114)
    assert 114 < came.makespan < 125
    assert came.useful == pytest.approx(1.0)


def test_a_scene_that_fits_nowhere_fails_with_its_reason() -> None:
    came = result(tiny(group(memory=100)), "ours")
    assert list(came.failed) == ["filmx1"]
    assert "memory" in came.failed["filmx1"]


def test_a_policy_that_never_ends_is_found_out() -> None:
    class Idle(PlainHead):
        def assign(self, now: float) -> Sequence[do.Instruction]:
            return []

    drawn = replace(tiny(group()), jobs=tiny(group()).jobs)
    with pytest.raises(TesseraError, match="1 jobs never end, first filmx1"):
        Run(drawn, Idle(1)).play()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_seed_gives_the_same_run(policy: str) -> None:
    trace = small("spot")
    first, again = (asdict(result(scenario(trace, 5), policy)) for _ in range(2))
    assert first == again
    assert asdict(result(scenario(trace, 6), policy)) != first


@pytest.mark.parametrize("name", mixes())
@pytest.mark.parametrize("policy", ["whole-fifo", "fixed-chunks"])
def test_plain_policies_bring_every_trace_to_its_end(name: str, policy: str) -> None:
    came = result(scenario(small(name), 2), policy)
    assert not came.failed
    assert came.makespan >= came.bound


@pytest.mark.parametrize("name", mixes())
def test_ours_brings_every_trace_to_its_end_and_never_breaks_a_rule(name: str) -> None:
    drawn, head = scenario(small(name), 2), CheckedHead()
    run = Run(drawn, head)
    measured = run.play()
    assert {state for _, state in measured.ends.values()} == {JobState.DONE}, measured.errors
    assert not head.core.state.jobs
    assert not head.core.state.attempts
    for job in drawn.jobs:
        frames = {number: head.play.rows[job.id, number] for number in range(1, job.frames + 1)}
        assert set(frames.values()) == {TaskState.DONE}
    came = outcome(drawn, "ours", measured, Estimates())
    assert came.makespan >= came.bound
    assert came.useful > 0.5


def test_what_goes_wrong_is_told_and_made_good() -> None:
    bad = Failures(crash=0.1, hang=0.02, lost=0.05, slow=0.1)
    drawn = tiny(group(frames=60, render=60), workers=6, failures=bad)
    came, measured = simulate(drawn, "ours")
    assert measured.ends["filmx1"][1] is JobState.DONE
    assert came.failures.keys() >= {"crash", "lost"}
    assert came.wasted > 0
    assert came.useful < 1


def test_a_worker_that_is_taken_back_says_so_and_comes_back() -> None:
    fleet = (Kind(name="spot", share=1, stays=200, away=50),)
    trace = Trace(name="t", about="t", jobs=(group(frames=40, render=60),), fleet=fleet)
    head = CheckedHead()
    measured = Run(scenario(trace, 3, 4), head).play()
    assert measured.causes["preempted"] > 0
    assert {state for _, state in measured.ends.values()} == {JobState.DONE}
    assert max(len(spans) for spans in measured.there.values()) > 1
    assert AttemptState.LOST in head.play.attempts.values()


def small(name: str) -> Trace:
    """A trace with fewer jobs, of fewer frames, for fewer workers: enough to run in a second or two."""
    trace = mix(name)
    jobs = tuple(
        each.model_copy(update={"count": min(each.count, 2), "frames": min(each.frames, 12.0)})
        if not isinstance(each.frames, tuple)
        else each.model_copy(update={"count": min(each.count, 2), "frames": (1.0, 8.0)})
        for each in trace.jobs
    )
    return trace.model_copy(update={"jobs": jobs, "workers": 10})
