from __future__ import annotations

from pathlib import Path

import pytest

from farm.domain.tiles import Size
from farm.domain.work import Cause
from workers import fake_pictures
from workers.failures import AttemptFailed
from workers.pictures import check_exr, check_picture, media_type

WHOLE = {
    "a.png": fake_pictures.png(3, 2),
    "a.jpg": fake_pictures.JPEG,
    "a.exr": fake_pictures.exr(3, 2),
    "a.tif": b"x",
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_pictures_pass_and_empty_ones_do_not(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(WHOLE[name])
    check_picture(path, name)
    path.write_bytes(b"")
    with pytest.raises(AttemptFailed, match="empty file") as caught:
        check_picture(path, name)
    assert caught.value.cause is Cause.BAD_RESULT


@pytest.mark.parametrize(("name", "lost"), [("a.png", 8), ("a.exr", 1), ("a.jpg", 2)])
def test_pictures_cut_short_do_not_pass(tmp_path: Path, name: str, lost: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(WHOLE[name][:-lost])
    with pytest.raises(AttemptFailed, match="not a whole"):
        check_picture(path, name)


def test_a_piece_has_exactly_the_pixels_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(WHOLE["a.exr"])
    check_exr(path, "The piece", Size(3, 2))
    with pytest.raises(AttemptFailed, match="The piece has 3×2 pixels, not 2×3"):
        check_exr(path, "The piece", Size(2, 3))


def test_nothing_is_served_as_a_page_or_a_program() -> None:
    assert media_type("deep/shot_0001.PNG") == "image/png"
    for name in ("a.html", "a.svg", "a.js", "a.xhtml", "a"):
        assert media_type(name) == "application/octet-stream"
