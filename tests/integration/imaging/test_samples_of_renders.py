"""Ranges of samples, really rendered: together they are the frame that Blender renders at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR

from tests.integration.imaging.conftest import FRAME, Imaging, Renders
from workers.imaging.exr import inspect_exr
from workers.protocol import CheckPiece, Done, Failed, MergeFrame

TOLERANCE = 1e-6  # of the largest value of the pass


def passes(path: Path | str) -> dict[str, dict[str, Any]]:
    with OpenEXR.File(str(path), separate_channels=True) as file:
        return {
            part.name(): {
                name.rpartition(".")[2]: channel.pixels.view(np.float32)
                for name, channel in part.channels.items()
            }
            for part in file.parts
        }


def test_ranges_merge_to_the_whole_render(renders: Renders, imaging: Imaging, tmp_path: Path) -> None:
    out = tmp_path / "merged.exr"

    answer = imaging.ask(MergeFrame(renders.ranges, FRAME.width, FRAME.height, str(out)))

    assert isinstance(answer, Done), answer
    assert answer.report is not None
    assert answer.report["suspects"] == []
    assert answer.notes == []
    whole, merged = passes(renders.whole), passes(out)
    assert list(merged) == list(whole) == list(answer.report["digests"])
    for name, channels in whole.items():
        if "Crypto" in name:
            continue
        for channel, wanted in channels.items():
            found, largest = merged[name][channel], float(np.abs(wanted).max())
            if name.endswith(("Depth", "Index", "Position")):
                assert found.tobytes() == wanted.tobytes(), name
            else:
                assert np.abs(found - wanted).max() <= TOLERANCE * largest, (name, channel)
    assert inspect_exr(out).metadata["cycles.Beauty.samples"] == "4"


def test_cryptomatte_has_the_ids_and_coverages_of_the_whole_render(
    renders: Renders, imaging: Imaging, tmp_path: Path
) -> None:
    out = tmp_path / "merged.exr"
    assert isinstance(imaging.ask(MergeFrame(renders.ranges, FRAME.width, FRAME.height, str(out))), Done)

    (ids, coverages), (found, merged) = (_slots(path, "CryptoMaterial") for path in (renders.whole, out))
    assert (found == ids).all(), "slots in the order in which samples met them"
    assert np.abs(merged - coverages).max() <= TOLERANCE
    assert ((coverages > 0) & (coverages < 1)).any(axis=0).mean() > 0.02, "there are edges to get wrong"

    (ids, coverages), (found, merged) = (_slots(path, "CryptoObject") for path in (renders.whole, out))
    assert (np.sort(found, axis=0) == np.sort(ids, axis=0)).all()
    assert np.abs(merged - coverages).max() <= TOLERANCE, "sorted, so that only equals may change places"
    moved = found != ids
    assert moved.any(axis=0).mean() < 0.02


def _slots(path: Path | str, kind: str) -> tuple[Any, Any]:
    """Ids as uint32 and coverages of all six slots of each pixel."""
    read = passes(path)
    names = sorted(name for name in read if name.startswith(f"Beauty.{kind}"))
    ids = [read[name][channel].ravel().view(np.uint32) for name in names for channel in "rb"]
    coverages = [read[name][channel].ravel() for name in names for channel in "ga"]
    return np.stack(ids), np.stack(coverages)


def test_a_range_without_sample_0_has_no_depth_of_its_own(renders: Renders) -> None:
    """What the merge relies on: were this to change, the first range would not be the only one to ask."""
    later = passes(renders.ranges[1].path)

    assert np.unique(later["Beauty.Depth"]["Z"]) == np.float32(1e10)
    assert not later["Beauty.Position"]["X"].any()
    assert not later["Beauty.Object Index"]["X"].any()


def test_a_real_piece_passes_its_check(renders: Renders, imaging: Imaging) -> None:
    piece = renders.pieces["2x2", 8][1]
    wanted = ["Beauty.Combined", "Beauty.CryptoObject02", "Ids only.Object Index"]

    fine = imaging.ask(CheckPiece(piece.path, *piece.rendered[2:], wanted))
    poor = imaging.ask(CheckPiece(piece.path, *piece.rendered[2:], [*wanted, "Ids only.Depth"]))

    assert isinstance(fine, Done), fine
    assert isinstance(poor, Failed)
    assert poor.what == "The piece has no “Ids only.Depth”."
