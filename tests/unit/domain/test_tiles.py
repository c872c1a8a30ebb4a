from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from farm.domain.errors import BadInput, UsageError
from farm.domain.tiles import Border, Box, InnerTiles, Size, Tile, TileGrid

sizes = st.builds(Size, st.integers(1, 300), st.integers(1, 300))


@st.composite
def cut_frames(draw: st.DrawFn) -> tuple[Size, TileGrid, int]:
    size = draw(sizes)
    grid = TileGrid(draw(st.integers(1, min(12, size.width))), draw(st.integers(1, min(12, size.height))))
    return size, grid, draw(st.integers(0, 40))


def truncated(border: Border, frame: Size) -> Box:
    """The box that Blender and Cycles make of a border: float32 products, truncated, y up."""

    def pixel(edge: float, of: int) -> int:
        return int(np.float32(edge) * np.float32(of))

    left, right = pixel(border.min_x, frame.width), pixel(border.max_x, frame.width)
    bottom, top = pixel(border.min_y, frame.height), pixel(border.max_y, frame.height)
    return Box(left, frame.height - top, right - left, top - bottom)


@given(cut_frames())
def test_the_cores_of_a_grid_are_every_pixel_exactly_once(cut: tuple[Size, TileGrid, int]) -> None:
    size, grid, overlap = cut
    times = np.zeros((size.height, size.width), int)

    for tile in grid.tiles(size.box, overlap):
        times[tile.core.y : tile.core.y + tile.core.height, tile.core.x : tile.core.x + tile.core.width] += 1

    assert (times == 1).all()


@given(cut_frames())
def test_cells_differ_by_at_most_a_pixel(cut: tuple[Size, TileGrid, int]) -> None:
    size, grid, _ = cut
    widths = {tile.core.width for tile in grid.tiles(size.box)}
    heights = {tile.core.height for tile in grid.tiles(size.box)}

    assert max(widths) - min(widths) <= 1
    assert max(heights) - min(heights) <= 1


@given(cut_frames())
def test_what_is_rendered_is_the_core_and_its_overlap_cut_at_the_frame(
    cut: tuple[Size, TileGrid, int],
) -> None:
    size, grid, overlap = cut
    for tile in grid.tiles(size.box, overlap):
        core, rendered = tile.core, tile.rendered
        assert rendered.x == max(0, core.x - overlap)
        assert rendered.y == max(0, core.y - overlap)
        assert rendered.x + rendered.width == min(size.width, core.x + core.width + overlap)
        assert rendered.y + rendered.height == min(size.height, core.y + core.height + overlap)


@given(cut_frames())
def test_tiles_are_numbered_row_by_row_from_the_top_left(cut: tuple[Size, TileGrid, int]) -> None:
    size, grid, overlap = cut
    tiles = list(grid.tiles(size.box, overlap))

    assert [tile.index for tile in tiles] == list(range(len(grid)))
    assert [(tile.core.y, tile.core.x) for tile in tiles] == sorted((t.core.y, t.core.x) for t in tiles)
    assert tiles[-1] == grid.tile(len(grid) - 1, size.box, overlap)


def test_a_grid_by_hand() -> None:
    assert list(TileGrid(2, 2).tiles(Size(161, 91).box, 8)) == [
        Tile(0, Box(0, 0, 80, 45), Box(0, 0, 88, 53)),
        Tile(1, Box(80, 0, 81, 45), Box(72, 0, 89, 53)),
        Tile(2, Box(0, 45, 80, 46), Box(0, 37, 88, 54)),
        Tile(3, Box(80, 45, 81, 46), Box(72, 37, 89, 54)),
    ]


@pytest.mark.parametrize("index", [-1, 6, 100])
def test_a_tile_outside_of_the_grid_is_an_index_error(index: int) -> None:
    with pytest.raises(IndexError):
        TileGrid(3, 2).tile(index, Size(30, 20).box)


# --- borders -------------------------------------------------------------------------------------


@given(cut_frames())
def test_the_border_of_a_tile_gives_exactly_its_box(cut: tuple[Size, TileGrid, int]) -> None:
    size, grid, overlap = cut
    for tile in grid.tiles(size.box, overlap):
        assert truncated(tile.rendered.border(size), size) == tile.rendered


fractions = st.floats(0, 1, width=32)


@given(st.builds(Border, fractions, fractions, fractions, fractions), sizes)
def test_the_box_of_a_border_is_what_blender_makes_of_it(border: Border, frame: Size) -> None:
    wanted, found = truncated(border, frame), Box.of_border(border, frame)

    assert (found.x, found.y) == (wanted.x, wanted.y)
    assert found.size == Size(max(0, wanted.width), max(0, wanted.height))


@given(cut_frames())
def test_a_box_comes_back_from_its_border(cut: tuple[Size, TileGrid, int]) -> None:
    size, grid, overlap = cut
    for tile in grid.tiles(size.box, overlap):
        assert Box.of_border(tile.rendered.border(size), size) == tile.rendered


def test_the_box_of_a_border_drawn_by_hand() -> None:
    """0.1 is a little more than a tenth as a float32, but not after the product: 64 of 640 pixels."""
    assert Box.of_border(Border(0.1, 0.9, 0.25, 1.0), Size(640, 360)) == Box(64, 0, 512, 270)
    assert Box.of_border(Border(0.5, 0.5, 0.0, 1.0), Size(640, 360)).width == 0


@pytest.mark.parametrize("upward", [False, True], ids=["x", "y"])
def test_every_edge_of_every_size_up_to_8192_is_exact(upward: bool) -> None:
    for of in range(1, 8193):
        frame = Size(1, of) if upward else Size(of, 1)
        # Two boxes that share an edge at each pixel: their borders hold every edge there is.
        edges = [0.0, *(_edge(frame, pixel, upward) for pixel in _sample(of)), 1.0]
        wanted = [0, *_sample(of), of]
        found = (np.array(edges, np.float32) * np.float32(of)).astype(int)
        assert found.tolist() == wanted, of


def _sample(of: int) -> list[int]:
    """All inner edges of the sizes that people render, and of small ones; of the rest every 509th."""
    common = {641, 720, 1080, 1280, 1440, 1920, 2048, 2160, 2560, 3840, 4096, 7680, 8192}
    return list(range(1, of, 1 if of < 100 or of in common else 509))


def _edge(frame: Size, pixel: int, upward: bool) -> float:
    if upward:
        return Box(0, frame.height - pixel, 1, pixel).border(frame).max_y
    return Box(pixel, 0, frame.width - pixel, 1).border(frame).min_x


def test_the_border_formula_is_exact_for_each_pixel_of_each_size_up_to_8192() -> None:
    for of in range(2, 8193):
        pixels = np.arange(1, of)
        found = (((pixels + 0.5) / of).astype(np.float32) * np.float32(of)).astype(int)
        assert (found == pixels).all(), of


def test_the_naive_border_would_be_off() -> None:
    """Why there is half a pixel in the border at all; the counts are those that Blender showed."""
    off = {}
    for of in (641, 1920, 3840):
        pixels = np.arange(1, of)
        found = ((pixels / of).astype(np.float32) * np.float32(of)).astype(int)
        off[of] = int((found != pixels).sum())

    assert off == {641: 54, 1920: 26, 3840: 53}


def test_the_edges_of_the_frame_are_exactly_zero_and_one() -> None:
    assert Box(0, 0, 641, 361).border(Size(641, 361)) == Border(0.0, 1.0, 0.0, 1.0)


def test_a_border_runs_up_where_a_box_runs_down() -> None:
    assert Box(0, 0, 4, 1).border(Size(4, 4)) == Border(0.0, 1.0, 3.5 / 4, 1.0)
    assert Box(1, 3, 2, 1).border(Size(4, 4)) == Border(1.5 / 4, 3.5 / 4, 0.0, 1.5 / 4)


# --- words ---------------------------------------------------------------------------------------


@given(st.integers(1, 999_999), st.integers(1, 999_999))
def test_a_grid_reads_what_it_writes(columns: int, rows: int) -> None:
    grid = TileGrid(columns, rows)

    assert TileGrid.parse(str(grid)) == grid


def test_a_grid_may_be_written_with_a_times_sign_and_blanks_around() -> None:
    assert TileGrid.parse(" 3×2 ") == TileGrid(3, 2)


@pytest.mark.parametrize(
    "text", ["", "2", "x", "2x", "0x2", "2x0", "-1x2", "2x2x2", "a", "2 x 2", "9" * 5000 + "x1", "٢x٢", "²x2"]
)
def test_what_is_no_grid_is_told_with_a_cure(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        TileGrid.parse(text)

    assert caught.value.what == f"“{text}” is not a tile grid."
    assert caught.value.cure == "Write columns x rows, such as 2x2, or none, or auto."


@pytest.mark.parametrize("grid", [TileGrid(5, 1), TileGrid(1, 4)])
def test_a_grid_finer_than_the_picture_is_told(grid: TileGrid) -> None:
    with pytest.raises(BadInput) as caught:
        grid.check(Size(4, 3))

    assert caught.value.what == f"A tile grid of {grid} is finer than the picture (4×3)."
    assert caught.value.cure == "Choose fewer tiles, or --tiles auto."


def test_a_grid_as_fine_as_the_picture_is_fine() -> None:
    TileGrid(4, 3).check(Size(4, 3))

    assert {tile.core.size for tile in TileGrid(4, 3).tiles(Size(4, 3).box)} == {Size(1, 1)}


def test_a_grid_of_more_tiles_than_any_farm_could_use_is_refused() -> None:
    TileGrid(64, 64).check(Size(1920, 1080))
    with pytest.raises(BadInput, match="2,073,600 tiles; a frame is cut into 4,096 at most"):
        TileGrid(1920, 1080).check(Size(1920, 1080))


@st.composite
def inner_cuts(draw: st.DrawFn) -> tuple[Box, TileGrid, int, InnerTiles]:
    """An area that Cycles renders in tiles of its own, and a grid fine enough for them."""
    area = Box(
        draw(st.integers(0, 50)), draw(st.integers(0, 50)), *(draw(st.integers(20, 200)) for _ in "xy")
    )
    inner = InnerTiles(draw(st.integers(8, 128)), draw(st.sampled_from([0, 4])))
    assume(inner.cut(area))
    least = inner.finest(area)
    grid = TileGrid(least.columns + draw(st.integers(0, 3)), least.rows + draw(st.integers(0, 3)))
    return area, grid, draw(st.integers(0, 40)), inner


@given(inner_cuts())
def test_pieces_keep_to_the_tiles_of_cycles_itself(cut: tuple[Box, TileGrid, int, InnerTiles]) -> None:
    area, grid, overlap, inner = cut
    times = np.zeros((area.height, area.width), int)

    for tile in grid.tiles(area, overlap, inner):
        core, x, y = tile.core, tile.core.x - area.x, area.y + area.height - tile.core.y - tile.core.height
        times[core.y - area.y : core.y - area.y + core.height, x : x + core.width] += 1
        assert x // inner.side == (x + core.width - 1) // inner.side
        assert y // inner.side == (y + core.height - 1) // inner.side
        left, low = area.x + x // inner.side * inner.side, y // inner.side * inner.side
        top = max(area.y, area.y + area.height - low - inner.side)
        seen = Box(left, top, inner.side, area.y + area.height - low - top).grown(inner.margin, area)
        assert tile.rendered.x == max(seen.x, core.x - overlap)
        assert tile.rendered.y == max(seen.y, core.y - overlap)
        assert tile.rendered.x + tile.rendered.width == min(
            seen.x + seen.width, core.x + core.width + overlap
        )
        assert tile.rendered.y + tile.rendered.height == min(
            seen.y + seen.height, core.y + core.height + overlap
        )

    assert (times == 1).all()


def test_a_picture_that_cycles_renders_at_once_has_no_inner_tiles() -> None:
    inner = InnerTiles(2048, 4)

    assert not inner.cut(Size(2048, 2048).box)
    assert inner.cut(Size(2049, 2048).box)
    assert inner.cut(Size(8193, 2).box)
    assert not InnerTiles(0, 0).cut(Size(9000, 9000).box)
    assert list(TileGrid(2, 2).tiles(Size(100, 80).box, 3, inner)) == list(
        TileGrid(2, 2).tiles(Size(100, 80).box, 3)
    )


def test_a_grid_too_coarse_for_the_tiles_of_cycles_is_an_error() -> None:
    area, inner = Size(7680, 4320).box, InnerTiles(2048, 4)

    assert inner.finest(area) == TileGrid(4, 3)
    assert (inner.fits(TileGrid(4, 3), area), inner.fits(TileGrid(4, 2), area)) == (True, False)
    with pytest.raises(ValueError, match="2 cells cannot keep apart 4 tiles"):
        TileGrid(2, 3).tile(0, area, 0, inner)
