from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain.errors import BadInput
from farm.domain.job import RenderSettings
from farm.domain.scene import Finding, Weight
from farm.domain.tiles import Size
from farm.planning import plan_job
from farm.planning.split import near_square
from tests.unit.dispatch.play import report

SEQUENCER = Finding(code="sequencer", weight=Weight.NOTE, what="the sequencer makes its pictures")


def test_an_animation_on_few_workers_keeps_its_frames_whole() -> None:
    plan = plan_job(RenderSettings(), report(), workers=8)
    assert (plan.frames, plan.grid) == ("1-24", None)
    assert plan.reason == "24 frames on 8 workers: whole frames"


def test_a_still_is_cut_so_that_every_worker_has_a_piece() -> None:
    plan = plan_job(RenderSettings(frames="7"), report(), workers=4)
    assert plan.grid == "2x2"
    assert plan.pieces_per_frame == 4
    assert plan.exact


def test_one_worker_has_no_use_for_tiles() -> None:
    assert plan_job(RenderSettings(frames="7"), report(), workers=1).grid is None


def test_a_grid_that_was_asked_for_is_used() -> None:
    plan = plan_job(RenderSettings(tiles="3x2"), report(), workers=1)
    assert plan.grid == "3x2"


def test_what_cannot_be_cut_stays_whole_and_says_why() -> None:
    plan = plan_job(RenderSettings(tiles="2x2"), report(blocks_cutting=(SEQUENCER,)), workers=2)
    assert plan.grid is None
    assert "though 2x2 tiles were asked for: the sequencer makes its pictures" in plan.reason


def test_auto_prefers_exact_frames_and_a_forced_grid_is_labelled() -> None:
    scene = report(breaks_exactness=(SEQUENCER,))
    assert plan_job(RenderSettings(frames="1"), scene, workers=4).grid is None
    forced = plan_job(RenderSettings(frames="1", tiles="2x2"), scene, workers=4)
    assert (forced.grid, forced.exact) == ("2x2", False)


@pytest.mark.parametrize(
    ("samples", "overlap", "exact"), [(16, 1, True), (17, 2, True), (512, 32, True), (4096, 32, False)]
)
def test_adaptive_sampling_gets_a_pixel_of_overlap_for_each_filter_round(
    samples: int, overlap: int, exact: bool
) -> None:
    settings = RenderSettings(frames="1", tiles="2x1", samples=samples)
    plan = plan_job(settings, report(adaptive=True), workers=2)
    assert (plan.overlap, plan.exact) == (overlap, exact)


def test_the_scale_sets_the_size_of_the_picture() -> None:
    plan = plan_job(RenderSettings(scale=33), report(), workers=1)
    assert (plan.width, plan.height) == (211, 118)


def test_a_picture_without_pixels_is_refused() -> None:
    with pytest.raises(BadInput, match="would be 3×0 pixels"):
        plan_job(RenderSettings(scale=1), report(full_width=300, full_height=90), workers=1)


def test_a_grid_finer_than_the_picture_is_refused() -> None:
    with pytest.raises(BadInput, match="finer than the picture"):
        plan_job(RenderSettings(tiles="641x1"), report(), workers=1)


@given(st.integers(1, 64), st.integers(1, 8192), st.integers(1, 8192))
def test_near_square_gives_at_least_the_pieces_asked_for(pieces: int, width: int, height: int) -> None:
    grid = near_square(pieces, Size(width, height))
    assert pieces <= len(grid) <= 2 * pieces
