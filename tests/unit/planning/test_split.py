from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.domain.errors import BadInput
from farm.domain.job import RenderSettings
from farm.domain.plan import Video
from farm.domain.scene import Finding, Weight
from farm.domain.tiles import MOST_TILES, Box, Size, TileGrid
from farm.planning import plan_job
from farm.planning.area import extra, near_square
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
    assert forced.reason.endswith("as asked; may differ from whole frames: the sequencer makes its pictures")


@pytest.mark.parametrize(
    ("samples", "overlap", "exact"), [(16, 1, True), (17, 2, True), (512, 32, True), (4096, 32, False)]
)
def test_adaptive_sampling_gets_a_pixel_of_overlap_for_each_filter_round(
    samples: int, overlap: int, exact: bool
) -> None:
    settings = RenderSettings(frames="1", tiles="2x1", samples=samples)
    plan = plan_job(settings, report(adaptive=True), workers=2)
    assert (plan.overlap, plan.exact) == (overlap, exact)


def test_the_proof_is_taken_where_it_is_affordable_and_a_margin_is_named_as_one() -> None:
    settings = RenderSettings(frames="1", tiles="2x1", samples=1024)
    large = plan_job(settings, report(adaptive=True), workers=2)
    assert (large.overlap, large.exact) == (64, True)  # 640 pixels: 20 % more to render
    assert "64 pixels of overlap prove adaptive sampling exact" in large.reason
    small = plan_job(settings, report(adaptive=True, full_width=200), workers=2)
    assert (small.overlap, small.exact) == (32, False)  # 200 pixels: it would be 64 % more
    assert "32 pixels of overlap are a margin: 64 would prove adaptive sampling exact" in small.reason


def test_half_as_much_again_is_what_a_proof_may_cost() -> None:
    area = Size(256, 256).box
    assert extra(TileGrid(2, 1), area, 64) == 0.5
    settings = RenderSettings(frames="1", tiles="2x1", samples=1024)
    for width, overlap in ((256, 64), (255, 32)):
        scene = report(adaptive=True, full_width=width, full_height=256)
        assert plan_job(settings, scene, workers=2).overlap == overlap


@pytest.mark.parametrize(
    ("own", "adaptive", "overlap"), [(11, False, 11), (11, True, 15), (0, True, 4), (0, False, 0)]
)
def test_a_scene_may_need_overlap_of_its_own_besides(own: int, adaptive: bool, overlap: int) -> None:
    scene = report(overlap=own, adaptive=adaptive, samples=64)
    plan = plan_job(RenderSettings(frames="1", tiles="2x2"), scene, workers=2)
    assert (plan.overlap, plan.exact) == (overlap, True)
    assert plan_job(RenderSettings(tiles="none"), scene, workers=2).overlap == 0


def test_a_render_region_is_what_is_cut() -> None:
    scene = report(border=(0.25, 0.75, 0.5, 1.0))
    plan = plan_job(RenderSettings(frames="7"), scene, workers=4)
    assert (plan.size, plan.region) == (Size(640, 360), (160, 0, 320, 180))
    assert plan.area == Box(160, 0, 320, 180)
    assert plan.grid == "2x2"
    assert plan.piece(3).tile.core == Box(320, 90, 160, 90)
    with pytest.raises(BadInput, match=r"finer than the picture \(320×180\)"):
        plan_job(RenderSettings(tiles="321x1"), scene, workers=1)


def test_a_region_that_is_all_of_the_picture_is_none() -> None:
    assert plan_job(RenderSettings(), report(border=(0.0, 1.0, 0.0, 1.0)), workers=1).region is None


def test_a_region_without_pixels_is_refused() -> None:
    with pytest.raises(BadInput, match="no pixel of a picture of 6×3"):
        plan_job(RenderSettings(scale=1), report(border=(0.5, 0.55, 0.0, 1.0)), workers=1)


def test_frames_that_depend_on_those_before_stay_whole_and_in_order() -> None:
    cloth = Finding(code="cloth", weight=Weight.NOTE, what="“Flag” is an unbaked cloth.")
    scene = report(in_order=(cloth,))
    plan = plan_job(RenderSettings(frames="1-3"), scene, workers=8)
    assert (plan.in_order, plan.grid, plan.ranges) == (True, None, ())
    assert plan.reason == (
        "3 frames on 8 workers: whole frames, in order on one worker: “Flag” is an unbaked cloth."
    )
    forced = plan_job(RenderSettings(tiles="2x2"), scene, workers=8)
    assert forced.grid is None
    assert "in order on one worker, though 2x2 tiles were asked for: “Flag”" in forced.reason
    by_samples = plan_job(RenderSettings(split="samples:4"), scene, workers=8)
    assert by_samples.ranges == ()
    assert "though sample ranges were asked for: “Flag”" in by_samples.reason
    assert not plan_job(RenderSettings(), report(), workers=8).in_order


@pytest.mark.parametrize(
    ("movie", "frames", "video", "made"),
    [
        (False, "1-3", False, ()),
        (True, "1-3", False, (Video.SCENE,)),
        (True, "2", False, ()),
        (False, "1-3", True, (Video.PREVIEW,)),
        (True, "1-3", True, (Video.SCENE, Video.PREVIEW)),
    ],
)
def test_a_movie_is_made_of_the_frames_where_the_scene_or_the_artist_asks_for_one(
    movie: bool, frames: str, video: bool, made: tuple[Video, ...]
) -> None:
    plan = plan_job(RenderSettings(frames=frames, video=video), report(movie=movie), workers=1)
    assert plan.videos == made


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


def test_pieces_of_a_large_picture_keep_to_the_tiles_of_cycles_itself() -> None:
    large = report(
        full_width=3840, full_height=2160, inner_side=2048, inner_margin=4, adaptive=True, samples=256
    )
    plan = plan_job(RenderSettings(frames="1"), large, workers=3)
    assert (plan.grid, plan.inner, plan.exact) == ("3x2", (2048, 4), True)
    assert [plan.piece(n).tile.core.x for n in range(3)] == [0, 1024, 2048]
    assert plan.piece(1).tile.rendered == Box(1008, 0, 1044, 116)

    coarse = plan_job(RenderSettings(frames="1", tiles="1x2"), large, workers=3)
    assert (coarse.grid, coarse.inner, coarse.exact) == ("1x2", None, False)
    assert "Cycles renders them in smaller tiles of its own" in coarse.reason

    small = plan_job(RenderSettings(frames="1", scale=50), large, workers=3)
    assert (small.inner, small.exact) == (None, True)


@pytest.mark.parametrize(
    ("side", "workers", "grid"),
    [(512, 2, "4x3"), (256, 2, "8x5"), (128, 2, None), (128, 8, "15x9"), (8, 2000, None)],
)
def test_a_frame_that_cycles_itself_renders_in_small_tiles_is_not_cut_into_very_many_for_few_workers(
    side: int, workers: int, grid: str | None
) -> None:
    scene = report(
        full_width=1920, full_height=1080, inner_side=side, inner_margin=4, adaptive=True, samples=256
    )
    plan = plan_job(RenderSettings(frames="1"), scene, workers=workers)
    assert (plan.grid, plan.exact) == (grid, True)
    if grid is None:
        assert "Cycles renders each in small tiles, so it would be" in plan.reason


def test_the_farm_chooses_no_more_tiles_than_a_frame_may_have() -> None:
    plan = plan_job(RenderSettings(frames="1"), report(full_width=7680, full_height=4320), workers=8000)
    assert plan.pieces_per_frame == MOST_TILES
