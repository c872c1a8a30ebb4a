"""The promise, on real pieces: merged, they are the frame that Blender renders whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR
import pytest

from tests.integration.imaging.conftest import CUTS, FRAME, Imaging, Renders, run_bpy
from workers.imaging.exr import inspect_exr
from workers.protocol import Count, Done, Failed, MergeFrame, PieceFile

#: What a render says about itself and not about the picture.
VOLATILE = {"Date", "RenderTime"} | {
    f"cycles.{layer}.{what}_time"
    for layer in ("Beauty", "Ids only")
    for what in ("render", "synchronization", "total")
}


def bits(path: Path) -> dict[tuple[str, str], Any]:
    with OpenEXR.File(str(path), separate_channels=True) as file:
        return {
            (part.name(), name): channel.pixels.view(np.uint32)
            for part in file.parts
            for name, channel in part.channels.items()
        }


def headers(path: Path) -> list[tuple[str, dict[str, str]]]:
    return [
        (part.name, {key: str(value) for key, value in part.header.items() if key not in VOLATILE})
        for part in inspect_exr(path).parts
    ]


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: f"{cut[0]} overlap {cut[1]}")
def test_merged_pieces_are_the_whole_render_bit_for_bit(
    cut: tuple[str, int], renders: Renders, imaging: Imaging, tmp_path: Path
) -> None:
    out = tmp_path / "merged.exr"
    pieces = renders.pieces[cut]

    answer = imaging.ask(MergeFrame(pieces, FRAME.width, FRAME.height, str(out)))

    assert isinstance(answer, Done), answer
    assert answer.outputs == ["merged.exr"]
    assert answer.notes == []
    assert answer.peak_memory > 0
    assert answer.report is not None
    assert answer.report["suspects"] == []
    passes = list(answer.report["digests"])
    assert imaging.counts == [Count("merging", i + 1, len(passes)) for i in range(len(passes))]
    whole, merged = bits(renders.whole), bits(out)
    assert list(merged) == list(whole)
    assert len(merged) == 49
    assert [key for key in whole if not np.array_equal(merged[key], whole[key])] == []
    assert headers(out) == headers(renders.whole)
    assert [path.name for path in tmp_path.iterdir()] == ["merged.exr"]


def test_the_whole_render_is_not_flat_so_that_equality_means_something(renders: Renders) -> None:
    for (part, channel), pixels in bits(renders.whole).items():
        if part == "Beauty.Combined" and not channel.endswith(".A"):
            assert len(np.unique(pixels)) > 1000, channel
    ids = bits(renders.whole)["Beauty.Object Index", "Beauty.Object Index.X"].view(np.float32)
    assert set(np.unique(ids)) == {0.0, 10.0, 11.0, 12.0}


def test_blender_lists_the_same_layers_and_passes_in_the_merged_file(
    renders: Renders, imaging: Imaging, tmp_path: Path
) -> None:
    out = tmp_path / "merged.exr"
    answer = imaging.ask(MergeFrame(renders.pieces["3x2", 8], FRAME.width, FRAME.height, str(out)))
    assert isinstance(answer, Done), answer

    printed = run_bpy("list_layers.py", str(renders.whole), str(out))
    listed = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))

    assert listed[str(out)] == listed[str(renders.whole)]
    assert list(listed[str(out)]["layers"]) == ["Beauty", "Ids only"]
    assert listed[str(out)]["layers"]["Ids only"] == ["Combined", "Alpha", "Object Index"]
    assert listed[str(out)]["cryptomatte"] == ["Beauty.CryptoMaterial", "Beauty.CryptoObject"]


def test_inspection_of_a_render_tells_size_parts_channels_and_metadata(renders: Renders) -> None:
    picture = inspect_exr(renders.whole)

    assert (picture.width, picture.height) == (161, 91)
    assert len(picture.parts) == 17
    assert picture.parts[0].name == "Beauty.Combined"
    assert [c.name for c in picture.parts[0].channels] == [f"Beauty.Combined.{c}" for c in "ABGR"]
    assert picture.metadata["cycles.Beauty.samples"] == "4"
    assert picture.metadata["Software"].startswith("Blender ")


def test_a_swapped_piece_is_refused_for_its_size(renders: Renders, imaging: Imaging, tmp_path: Path) -> None:
    first, second, *rest = renders.pieces["2x2", 0]
    swapped = [
        PieceFile(second.path, first.rendered, first.core),
        PieceFile(first.path, second.rendered, second.core),
        *rest,
    ]
    width = second.rendered[2]

    answer = imaging.ask(MergeFrame(swapped, FRAME.width, FRAME.height, str(tmp_path / "merged.exr")))

    assert answer == Failed(
        "bad-result",
        f"Piece 1 of 4 is {width}×45 pixels and should be {first.rendered[2]}×45.",
        "Render it again.",
        [0],
    )


@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.5, 0.999])
def test_a_render_that_was_cut_short_is_refused(
    share: float, renders: Renders, imaging: Imaging, tmp_path: Path
) -> None:
    pieces = list(renders.pieces["2x2", 0])
    data = Path(pieces[2].path).read_bytes()
    short = tmp_path / "short.exr"
    short.write_bytes(data[: int(len(data) * share)])
    pieces[2] = PieceFile(str(short), pieces[2].rendered, pieces[2].core)
    out = tmp_path / "merged.exr"
    out.write_bytes(b"of an earlier attempt")

    answer = imaging.ask(MergeFrame(pieces, FRAME.width, FRAME.height, str(out)))

    assert isinstance(answer, Failed)
    assert answer.cause == "bad-result"
    assert answer.what.startswith("Piece 3 of 4 cannot be read: ")
    assert answer.cure == "Render it again."
    assert out.read_bytes() == b"of an earlier attempt"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["merged.exr", "short.exr"]


def test_damaged_pixels_are_refused_and_the_process_goes_on(
    renders: Renders, imaging: Imaging, tmp_path: Path
) -> None:
    pieces = list(renders.pieces["2x2", 0])
    damaged = tmp_path / "damaged.exr"
    shutil.copy(pieces[0].path, damaged)
    data = bytearray(damaged.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(byte ^ 0x5A for byte in data[middle : middle + 64])
    damaged.write_bytes(data)
    bad = [PieceFile(str(damaged), pieces[0].rendered, pieces[0].core), *pieces[1:]]
    out = tmp_path / "merged.exr"

    refused = imaging.ask(MergeFrame(bad, FRAME.width, FRAME.height, str(out)))
    done = imaging.ask(MergeFrame(pieces, FRAME.width, FRAME.height, str(out)))

    assert isinstance(refused, Failed)
    assert refused.what.startswith("Piece 1 of 4 cannot be read: pixels are damaged or cut short in “")
    assert isinstance(done, Done)
