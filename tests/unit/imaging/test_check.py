from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR
import pytest

from tests.unit.imaging.pictures import Parts, Told, frame, save
from workers.child import Refusal
from workers.imaging.check import check_piece
from workers.protocol import CheckPiece, Done

PASSES = ["Beauty.Combined", "Beauty.Depth", "Beauty.Id"]


def checked(path: Path, passes: list[str] | None = None, width: int = 9, height: int = 6) -> Done:
    return check_piece(CheckPiece(str(path), width, height, PASSES if passes is None else passes), Told())


def fault(path: Path, passes: list[str] | None = None, **size: int) -> Refusal:
    with pytest.raises(Refusal) as caught:
        checked(path, passes, **size)
    assert caught.value.cause == "bad-result"
    return caught.value


def with_value(name: str, value: float) -> Parts:
    """A frame with a pass ``Beauty.<name>`` that has ``value`` in three places of two pixels."""
    pixels = np.ones((2, 6, 9), np.float32)
    pixels[0, 1, 2] = pixels[1, 1, 2] = pixels[0, 4, 8] = value
    full = f"Beauty.{name}"
    return {**frame(9, 6), full: {f"{full}.X": pixels[0], f"{full}.Y": pixels[1]}}


def test_a_piece_with_all_that_was_asked_for_is_fine(tmp_path: Path) -> None:
    path = save(tmp_path / "piece.exr", frame(9, 6))
    before = path.read_bytes()

    assert checked(path) == Done()
    assert checked(path, []) == Done()
    assert path.read_bytes() == before


def test_another_size_is_told(tmp_path: Path) -> None:
    path = save(tmp_path / "piece.exr", frame(9, 6))

    assert fault(path, width=10).what == "The piece is 9×6 pixels and should be 10×6."


def test_missing_passes_are_named(tmp_path: Path) -> None:
    path = save(tmp_path / "piece.exr", frame(9, 6))

    assert fault(path, [*PASSES, "Beauty.Mist", "Back.Combined"]).what == (
        "The piece has no “Beauty.Mist”, “Back.Combined”."
    )


def test_a_pass_that_one_view_lacks_is_missing(tmp_path: Path) -> None:
    ones = np.ones((6, 9), np.float32)
    path = tmp_path / "stereo.exr"
    OpenEXR.File(
        [
            OpenEXR.Part(
                {"type": OpenEXR.scanlineimage, "view": view}, {f"L.{name}.X": ones}, f"L.{name}-{view}"
            )
            for name, view in (
                ("Combined", "left"),
                ("Combined", "right"),
                ("Depth", "left"),
                ("left", "left"),
            )
        ]
    ).write(str(path))

    assert checked(path, ["L.Combined"]) == Done()
    assert "“L.left” in the view “right”" in fault(path, ["L.left"]).what  # an AOV called as the view
    assert fault(path, ["L.Combined", "L.Depth"]).what == ("The piece has no “L.Depth” in the view “right”.")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "name",
    [
        "Combined",
        "Combined_Key",
        "Mist",
        "Diffuse Direct",
        "Object Index",
        "MyAOV",
        "CryptoObject00",
        "Denoising Normal",
        "Denoising Albedo",
        "Shadow Catcher",
    ],
)
def test_what_cycles_keeps_finite_must_be_finite(name: str, value: float, tmp_path: Path) -> None:
    path = save(tmp_path / "piece.exr", with_value(name, value) if name != "Combined" else _combined(value))

    found = fault(path)

    assert found.what == f"The piece has 2 pixels without a finite value in “Beauty.{name}”."
    assert "overflow" in found.cure


def _combined(value: float) -> Parts:
    parts = frame(9, 6)
    for channel, at in (("R", (1, 2)), ("A", (1, 2)), ("B", (4, 8))):
        parts["Beauty.Combined"][f"Beauty.Combined.{channel}"][at] = value
    return parts


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e10])
@pytest.mark.parametrize("name", ["Position", "Normal", "UV", "Vector", "Denoising Depth"])
def test_passes_of_the_geometry_may_hold_what_the_scene_holds(
    name: str, value: float, tmp_path: Path
) -> None:
    assert checked(save(tmp_path / "piece.exr", with_value(name, value))) == Done()


def test_endless_depth_is_fine(tmp_path: Path) -> None:
    parts = frame(9, 6)
    parts["Beauty.Depth"]["Beauty.Depth.Z"][:] = np.inf

    assert checked(save(tmp_path / "piece.exr", parts)) == Done()


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "link", "gone"])
def test_what_cannot_be_decoded_is_told(damage: str, tmp_path: Path) -> None:
    path = save(tmp_path / "piece.exr", frame(90, 60))
    data: Any = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        middle = len(data) // 2
        data[middle : middle + 32] = bytes(byte ^ 0x5A for byte in data[middle : middle + 32])
        path.write_bytes(data)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "link":
        path.symlink_to(path.rename(tmp_path / "other.exr"))
    else:
        path.unlink()

    told = fault(path, width=90, height=60).what

    begins = {"link": "The piece is not a plain file", "gone": "The piece is missing"}
    assert told.startswith(begins.get(damage, "The piece cannot be read: "))
