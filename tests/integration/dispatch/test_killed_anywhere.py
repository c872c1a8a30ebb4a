"""A dispatcher killed at any moment: the next one goes on from the database, whatever was going on.

After each step of a random order of events the database is read back whole, which takes long:
``TESSERA_KILLED_EXAMPLES=200`` tries more orders than the few of an ordinary run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule

from farm.domain.plan import SampleRange
from farm.domain.scene import SceneReport
from farm.domain.states import JobState
from farm.domain.task import TaskKind
from farm.domain.work import Order, PieceRef
from farm.store import outputs, proofs
from tests.integration.dispatch.kept import Kept
from tests.unit.dispatch.play import SSE, Play, worker
from tests.unit.dispatch.test_core_random import SCENES, Farm


@pytest.fixture(params=[1, 2, 3, 1000], ids=["each", "second", "third", "never"])
def kept(request: pytest.FixtureRequest) -> Iterator[Deadly]:
    """A farm of two workers whose dispatcher is killed after each step, each second step …"""
    kept = Deadly(request.param)
    kept.join(worker("w1"), worker("w2"))
    yield kept
    kept.store.close()


class Deadly(Kept):
    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.steps = every, 0

    def go_on(self, scene: SceneReport | None = None, until: TaskKind | None = None) -> list[Order]:
        """Orders succeed one by one, and the dispatcher dies in between; those of kind ``until`` are left."""
        while self.sent and not (until and self.orders(until)):
            order = self.orders()[0]
            self.succeed(order, scene)
            self.may_die()
        return self.orders(until)

    def may_die(self) -> None:
        self.steps += 1
        if self.steps % self.every == 0:
            self.kill()


def keys(pieces: tuple[PieceRef, ...]) -> list[str]:
    return [piece.key.split("/")[1] for piece in pieces]


def test_frames_in_order_and_their_movie(kept: Deadly) -> None:
    kept.submit(frames="1-4")
    [encode] = kept.go_on(SCENES["cloth movie"], until=TaskKind.ENCODE)
    assert [picture.file.name for picture in encode.pictures] == [f"j1-{n}-whole" for n in range(1, 5)]
    kept.go_on()
    assert kept.jobs["j1"].state is JobState.DONE
    with kept.store.read() as connection:
        assert [row.file.name for row in outputs.movies(connection, ["j1"])["j1"]] == ["j1-encode"]


def test_pieces_at_fault(kept: Deadly) -> None:
    kept.submit(frames="1", tiles="2x2")
    for times in (1, 2):
        [finish] = kept.go_on(until=TaskKind.FINISH)
        assert [piece.renders for piece in finish.pieces] == [times, 1, 1, times]
        kept.blame(finish, 0, 3)
        kept.may_die()
    [finish] = kept.go_on(until=TaskKind.FINISH)
    assert [piece.renders for piece in finish.pieces] == [3, 1, 1, 3]
    kept.succeed(finish)
    assert kept.jobs["j1"].state is JobState.DONE
    assert kept.bytes == {f"{finish.prefix}file"}  # of six pieces none is left


def test_a_piece_at_fault_for_the_third_time(kept: Deadly) -> None:
    kept.submit(frames="1", tiles="2x1")
    for _ in range(3):
        [finish] = kept.go_on(until=TaskKind.FINISH)
        kept.blame(finish, 1, what="It is black.")
        kept.may_die()
    assert kept.frames["j1", 1].error == "It is black. (rendered 3 times)"
    assert kept.jobs["j1"].state is JobState.FAILED
    assert kept.bytes == set()


def test_samples_that_are_added_twice_and_a_proof(kept: Deadly) -> None:
    kept.submit("a1", frames="1-3", samples=64, first=16)
    kept.go_on()
    there = kept.plans["a1"].ranges
    assert there == (SampleRange(first=0, count=16, total=64),)
    kept.add("a1", there, "b1", frames="1-3", samples=64, first=32, split="samples:2")
    [finish, *_] = kept.go_on(until=TaskKind.FINISH)
    assert keys(finish.pieces) == ["a1", "b1", "b1"]
    kept.go_on()
    kept.add("b1", kept.plans["b1"].ranges, "c1", frames="2-3", samples=64)
    [finish, *_] = kept.go_on(until=TaskKind.FINISH)
    assert keys(finish.pieces) == ["a1", "b1", "b1", "c1"]
    kept.go_on()
    assert {job.state for job in kept.jobs.values()} == {JobState.DONE}
    kept.verify("c1", "2-3")
    [order, *_] = kept.orders(TaskKind.VERIFY)
    assert order.claim is not None
    assert (order.claim.job_id, order.claim.plan) == ("c1", kept.plans["c1"])
    kept.go_on()
    with kept.store.read() as connection:
        assert proofs.counts(connection, ["c1", "a1"]) == {"c1": (2, 0), "a1": (0, 0)}


def test_pieces_of_an_earlier_job_that_are_at_fault_or_in_a_class_that_is_gone(kept: Deadly) -> None:
    kept.submit("a1", frames="1", samples=64, first=16)
    kept.go_on()
    kept.add("a1", kept.plans["a1"].ranges, "b1", frames="1", samples=64)
    [finish] = kept.go_on(until=TaskKind.FINISH)
    assert keys(finish.pieces) == ["a1", "b1"]
    kept.blame(finish, 0)
    kept.may_die()
    [finish] = kept.go_on(until=TaskKind.FINISH)
    assert keys(finish.pieces) == ["b1", "b1"]
    for name in ("w1", "w2"):
        kept.lose(name)
    kept.join(worker("w3", render_class=SSE.model_copy(update={"blender": "5.3.0 def"})))
    kept.may_die()
    for _ in range(2):  # the patience of a dispatcher that is killed ends with it
        kept.now += 60
        kept.assign()
    assert kept.anew == [1]
    kept.go_on()
    assert kept.jobs["b1"].state is JobState.DONE
    with kept.store.read() as connection:  # the earlier job's piece is where it was
        [piece] = [r for r in outputs.of_frames(connection, "a1", [1])[1] if r.tile == 0]
    assert piece.file.key in kept.bytes


def test_a_proof_finds_the_digests_of_the_attempt_that_was_committed(kept: Deadly) -> None:
    kept.submit(frames="7", tiles="2x1")
    [finish] = kept.go_on(until=TaskKind.FINISH)
    kept.fail(finish)
    kept.may_die()
    [again] = kept.orders(TaskKind.FINISH)
    kept.succeed(again)
    kept.verify("j1", "7")
    [order] = kept.orders(TaskKind.VERIFY)
    assert order.claim is not None
    assert order.claim.digests == {"ViewLayer.Combined": again.attempt_id}
    assert [file.key for file in order.claim.outputs] == [f"{again.prefix}file"]
    assert order.claim.exr is None
    assert order.claim.render_class == order.render_class
    kept.go_on()
    assert kept.jobs["v1"].state is JobState.DONE


class KeptFarm(Farm):
    def new_play(self) -> Play:
        return Kept()

    @rule()
    def kill(self) -> None:
        assert isinstance(self.play, Kept)
        self.play.kill()

    @rule()
    def restart(self) -> None:
        """Here the database is read back, not the model of it."""
        self.kill()

    def teardown(self) -> None:
        assert isinstance(self.play, Kept)
        try:
            super().teardown()
        finally:
            self.play.store.close()


KeptFarm.TestCase.settings = settings(
    max_examples=int(os.environ.get("TESSERA_KILLED_EXAMPLES", "8")),
    stateful_step_count=30,
    derandomize="TESSERA_KILLED_EXAMPLES" not in os.environ,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestKilledAnywhere = KeptFarm.TestCase
