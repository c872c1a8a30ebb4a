from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.unit.imaging.pictures import Told, frame, piece, save
from workers.child import Refusal
from workers.imaging.files import plain_file, replacing
from workers.imaging.merge import merge_frame
from workers.imaging.preview import shrink
from workers.protocol import MergeFrame, Shrink


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """As a full disk: what is written beyond ``size`` bytes fails, and not before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_appears_whole_under_its_name(tmp_path: Path) -> None:
    with replacing(str(tmp_path / "a.bin")) as file:
        file.write(b"half")
        file.flush()
        assert not (tmp_path / "a.bin").exists()
        file.write(b" and half")

    assert (tmp_path / "a.bin").read_bytes() == b"half and half"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_what_fails_half_way_leaves_the_older_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"older")

    with pytest.raises(ZeroDivisionError), replacing(str(tmp_path / "a.bin")) as file:
        file.write(b"half")
        raise ZeroDivisionError

    assert (tmp_path / "a.bin").read_bytes() == b"older"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_a_link_that_waits_at_the_name_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"precious")
    (tmp_path / "a.bin").symlink_to(tmp_path / "elsewhere")

    with replacing(str(tmp_path / "a.bin")) as file:
        file.write(b"new")

    assert (tmp_path / "elsewhere").read_bytes() == b"precious"
    assert (tmp_path / "a.bin").read_bytes() == b"new"
    assert not (tmp_path / "a.bin").is_symlink()


def test_a_folder_is_no_plain_file(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        plain_file(str(tmp_path), "The picture")

    assert caught.value.what == f"The picture is not a plain file ({tmp_path.name})."


def test_a_preview_that_does_not_fit_on_the_disk_is_an_error_and_no_file(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (200, 200, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")

    with no_file_longer_than(5000), pytest.raises(OSError, match="File too large"):
        shrink(Shrink(str(tmp_path / "noise.png"), str(tmp_path / "out.jpg"), 200), Told())

    assert [path.name for path in tmp_path.iterdir()] == ["noise.png"]


def test_a_merged_frame_that_does_not_fit_on_the_disk_is_an_error_and_no_file(tmp_path: Path) -> None:
    whole = [0, 0, 90, 60]
    pieces = [piece(save(tmp_path / "piece.exr", frame(90, 60)), whole)]

    with no_file_longer_than(5000), pytest.raises(OSError, match="File too large"):
        merge_frame(MergeFrame(pieces, 90, 60, str(tmp_path / "out.exr")), Told())

    assert [path.name for path in tmp_path.iterdir()] == ["piece.exr"]
