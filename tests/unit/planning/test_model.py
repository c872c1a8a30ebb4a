"""The model of costs, and what is decided by it."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain.costs import Costs
from farm.domain.job import RenderSettings
from farm.domain.plan import Plan, Recut
from farm.domain.scene import Finding, SceneReport, Weight
from farm.planning import cutting, learned, model, plan_job
from farm.planning.area import recut_of
from farm.planning.model import Hand, Way, best_way, makespan
from tests.unit.dispatch.play import report

HEAVY = Costs(seen=1, sync=2, render=100, rest=1, finish=3)
SYNC = Costs(seen=1, load=1, sync=9.3, render=0.5, rest=0.1, finish=8.6)  # as measured, see `learned`
TINY = Costs(seen=1, sync=0.1, render=0.2, rest=0.1, finish=1.5)
AUTO = RenderSettings()


@pytest.mark.parametrize("module", [cutting, learned, model])
def test_examples_in_the_text_hold(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def planned(frames: str, workers: int, costs: Costs, **scene: object) -> Plan:
    return plan_job(RenderSettings(frames=frames), report(**scene), workers, costs=costs)


@pytest.mark.parametrize("workers", [2, 4, 8, 16, 32, 64])
def test_a_still_is_as_quick_as_its_preparation_and_its_share_of_the_pixels(workers: int) -> None:
    costs = Costs(seen=1, sync=10, render=1280)
    hands = [Hand()] * workers
    choice = best_way(costs, 1, [Way(n) for n in (2, 4, 8, 16, 32, 64)], hands)
    assert choice.way.pieces == workers
    assert choice.seconds == pytest.approx(10 + 1280 / workers + model.finish_seconds(costs))


def test_a_worker_pays_once_for_the_scene_and_once_for_each_frame() -> None:
    costs = Costs(seen=1, load=5, sync=3, render=8, rest=1, finish=2)
    one = [Hand(scene=False)]
    assert makespan(costs, 1, Way(), one) == 5 + 3 + 8 + 1
    assert makespan(costs, 2, Way(), one) == 5 + 2 * 12
    assert makespan(costs, 2, Way(2), one) == 5 + 2 * (3 + 2 * (4 + 1) + 2)


def test_a_quick_worker_and_a_busy_one() -> None:
    costs = Costs(seen=1, render=10)
    assert makespan(costs, 1, Way(), [Hand(speed=2), Hand(free=3)]) == 5
    assert makespan(costs, 3, Way(), [Hand(), Hand(free=12)]) == 22


@given(
    frames=st.integers(1, 12),
    free=st.lists(st.floats(0, 50), min_size=1, max_size=6),
    pieces=st.integers(1, 8),
    render=st.floats(0.1, 100),
    sync=st.floats(0, 20),
)
def test_nothing_ends_before_its_work_is_shared(
    frames: int, free: list[float], pieces: int, render: float, sync: float
) -> None:
    costs = Costs(seen=1, render=render, sync=sync, finish=1)
    end = makespan(costs, frames, Way(pieces), [Hand(free=at) for at in free])
    work = frames * (render + sync)
    assert end * len(free) >= work - 1e-6
    assert end >= min(free) + sync + render / pieces - 1e-6
    assert end <= max(free) + frames * (pieces * (sync + render / pieces) + 1) + 1e-6


def test_a_heavy_still_is_cut_and_says_by_how_much() -> None:
    plan = planned("7", 4, HEAVY)
    assert plan.grid == "2x2"
    assert plan.reason == (
        "1 frame on 4 workers: each cut in 4 tiles (2x2), which ends them in 31 s instead of 2 min"
    )


@pytest.mark.parametrize("costs", [SYNC, TINY])
def test_what_is_prepared_longer_than_rendered_stays_whole(costs: Costs) -> None:
    plan = planned("7", 4, costs)
    assert plan.grid is None
    assert "whole frames: no cut would end them sooner than in" in plan.reason


def test_a_still_of_hardly_any_pixels_stays_whole_though_nothing_is_known() -> None:
    tiny = {"full_width": 160, "full_height": 90, "samples": 8}
    plan = planned("7", 4, Costs(), **tiny)
    assert (plan.grid, plan.reason.partition(": ")[2]) == (
        None,
        "whole frames: they are too small to be worth a cut",
    )
    assert planned("7", 4, Costs(), **tiny | {"samples": 64}).grid == "3x1"
    asked = plan_job(RenderSettings(frames="7", tiles="2x2"), report(**tiny), 4)
    assert asked.grid == "2x2"


def test_the_end_of_an_animation_is_foretold_where_it_will_be_cut() -> None:
    assert planned("1-22", 8, HEAVY).reason == (
        "22 frames on 8 workers: whole frames; the last 6 will be cut in 4"
    )
    assert planned("1-9", 8, HEAVY).reason == (
        "9 frames on 8 workers: whole frames; the last one will be cut in 8"
    )
    for quiet in (planned("1-24", 8, HEAVY), planned("1-22", 8, SYNC), planned("1-22", 8, Costs())):
        assert quiet.reason.endswith("on 8 workers: whole frames")
        assert quiet.grid is None


NOISE = Finding(code="volume", weight=Weight.NOTE, what="a volume")


def test_what_would_not_be_exact_is_not_cut() -> None:
    assert planned("7", 4, HEAVY, breaks_exactness=(NOISE,)).grid is None
    assert planned("1-9", 8, HEAVY, breaks_exactness=(NOISE,)).reason.endswith("whole frames")
    whole = planned("1-9", 8, HEAVY)
    for scene in ({"breaks_exactness": (NOISE,)}, {"blocks_cutting": (NOISE,)}, {"in_order": (NOISE,)}):
        assert recut_of(None, 4, whole, AUTO, report(**scene)) is None


def test_a_revision_has_the_overlap_that_proves_it() -> None:
    scene = report(adaptive=True, samples=64, overlap=11)
    whole = plan_job(RenderSettings(tiles="none"), scene, 4)
    first = recut_of(None, 4, whole, AUTO, scene)
    assert first == Recut(grid="2x2", overlap=15)
    then = recut_of(1, 2, whole.recut((first,)), AUTO, scene)
    assert then == Recut(of=1, grid="2x1", overlap=15)
    margin = report(adaptive=True, samples=4096)  # 256 rounds: no such overlap is affordable
    assert recut_of(None, 4, whole, AUTO, margin) is None
    cut = plan_job(RenderSettings(tiles="2x2"), margin, 4)
    assert recut_of(0, 2, cut, RenderSettings(tiles="2x2"), margin) is None


def test_a_part_of_a_piece_sees_no_more_than_cycles_own_tile_does() -> None:
    large: SceneReport = report(full_width=3840, full_height=2160, inner_side=2048, inner_margin=4)
    plan = plan_job(RenderSettings(frames="1"), large, workers=4)
    assert plan.inner == (2048, 4)
    part = recut_of(0, 2, plan, AUTO, large)
    assert part is not None
    assert part.inner == (2048, 4)
    revised = plan.recut((part,))
    for piece in revised.parts[0]:
        tile, of = revised.piece(piece).tile, revised.piece(0).tile
        assert tile.rendered.x >= of.rendered.x
        assert tile.rendered.x + tile.rendered.width <= of.rendered.x + of.rendered.width


def test_a_piece_that_is_small_is_not_cut_again_but_may_be_raced() -> None:
    plan = plan_job(RenderSettings(frames="1"), report(full_width=128, full_height=128), workers=4)
    assert plan.grid == "2x2"
    assert recut_of(0, 2, plan, AUTO, report()) is None
    assert recut_of(0, 1, plan, AUTO, report()) == Recut(of=0, grid="1x1")
