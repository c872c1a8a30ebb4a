"""Pieces that are black and transparent: wrong where the picture breaks off at their edges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.imaging.pictures import Parts, Told, load, save
from workers.imaging.merge import merge_frame
from workers.protocol import Done, MergeFrame, PieceFile

BOXES = [[0, 0, 4, 3], [4, 0, 5, 3], [0, 3, 4, 3], [4, 3, 5, 3]]


def lit(width: int, height: int) -> Any:
    return np.full((height, width), 0.25, np.float32)


def layers(combined: Any, *more: Any) -> Parts:
    """A picture of one Combined pass a layer, and a Depth that is never 0."""
    parts: Parts = {}
    for number, pixels in enumerate((combined, *more)):
        name = f"L{number}.Combined"
        parts[name] = {f"{name}.{channel}": pixels.copy() for channel in "ABGR"}
    parts["L0.Depth"] = {"L0.Depth.Z": np.full(combined.shape, 1e10, np.float32)}
    return parts


def merged(tmp_path: Path, whole: Parts, sure: int | None = None) -> Done:
    pieces = []
    for number, (x, y, width, height) in enumerate(BOXES):
        parts = {
            name: {c: np.ascontiguousarray(a[y : y + height, x : x + width]) for c, a in channels.items()}
            for name, channels in whole.items()
        }
        path = save(tmp_path / f"{number}.exr", parts)
        box = BOXES[number]
        pieces.append(PieceFile(str(path), box, box, sure=number == sure))
    return merge_frame(MergeFrame(pieces, 9, 6, str(tmp_path / "merged.exr")), Told())


def blackened(pixels: Any, number: int) -> Any:
    x, y, width, height = BOXES[number]
    pixels[y : y + height, x : x + width] = 0
    return pixels


@pytest.mark.parametrize("number", range(4))
def test_a_black_piece_beside_light_is_a_suspect_and_nothing_is_written(number: int, tmp_path: Path) -> None:
    done = merged(tmp_path, layers(blackened(lit(9, 6), number)))

    assert done.report == {"digests": {}, "suspects": [number]}
    assert (done.outputs, done.notes) == ([], [])
    assert not (tmp_path / "merged.exr").exists()
    assert not list(tmp_path.glob(".*"))


def test_a_suspect_that_is_sure_is_taken_as_it_is_with_a_note(tmp_path: Path) -> None:
    whole = layers(blackened(lit(9, 6), 3))

    done = merged(tmp_path, whole, sure=3)

    assert done.report is not None
    assert done.report["suspects"] == []
    assert done.notes == ["Piece 4 of 4 is completely black and transparent."]
    assert np.array_equal(
        load(tmp_path / "merged.exr")["L0.Combined"]["L0.Combined.R"], whole["L0.Combined"]["L0.Combined.R"]
    )


def test_a_black_piece_whose_seams_fade_to_black_is_fine(tmp_path: Path) -> None:
    pixels = blackened(lit(9, 6), 0)
    pixels[:4, :5] = 0  # one pixel more on each side

    done = merged(tmp_path, layers(pixels))

    assert done.report is not None
    assert done.report["suspects"] == []
    assert done.outputs == ["merged.exr"]
    assert done.notes == []


@pytest.mark.parametrize("at", [(0, 4), (2, 4), (3, 0), (3, 3), (3, 4)], ids=str)
def test_a_single_pixel_at_the_seam_makes_a_suspect(at: tuple[int, int], tmp_path: Path) -> None:
    pixels = np.zeros((6, 9), np.float32)
    pixels[at] = 1e-6
    pixels[5, 8] = 1

    done = merged(tmp_path, layers(pixels))

    assert done.report is not None
    assert 0 in done.report["suspects"]


def test_a_frame_that_is_black_throughout_has_no_suspects(tmp_path: Path) -> None:
    done = merged(tmp_path, layers(np.zeros((6, 9), np.float32)))

    assert done.report is not None
    assert done.report["suspects"] == []
    assert (done.outputs, done.notes) == (["merged.exr"], [])


def test_a_piece_that_is_black_but_opaque_is_no_suspect(tmp_path: Path) -> None:
    whole = layers(blackened(lit(9, 6), 1))
    whole["L0.Combined"]["L0.Combined.A"][:] = 1

    done = merged(tmp_path, whole)

    assert done.report is not None
    assert done.report["suspects"] == []


def test_a_piece_that_shows_something_in_another_layer_is_no_suspect(tmp_path: Path) -> None:
    done = merged(tmp_path, layers(blackened(lit(9, 6), 1), lit(9, 6)))

    assert done.report is not None
    assert done.report["suspects"] == []


def test_a_piece_that_is_black_in_all_layers_is_a_suspect_by_the_seam_of_one(tmp_path: Path) -> None:
    done = merged(tmp_path, layers(np.zeros((6, 9), np.float32), blackened(lit(9, 6), 2)))

    assert done.report is not None
    assert done.report["suspects"] == [2]


def test_without_a_combined_pass_nothing_is_suspected(tmp_path: Path) -> None:
    whole = layers(blackened(lit(9, 6), 1))
    del whole["L0.Combined"]

    done = merged(tmp_path, whole)

    assert done.report is not None
    assert done.report["suspects"] == []
