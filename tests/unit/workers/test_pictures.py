from __future__ import annotations

from pathlib import Path

import pytest

from farm.domain.tiles import Size
from farm.domain.work import Cause
from workers import fake_pictures
from workers.failures import AttemptFailed
from workers.pictures import EXR, JPEG, PNG, check_exr, check_picture, kind_of, media_type, size_of

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


#: A head with tables and a comment, as cameras write them, then the frame's own.
PHOTO = b"".join(
    (
        b"\xff\xd8\xff\xe0\x00\x04ab\xff\xdb\x00\x03x\xff\xc4\x00\x02\xff\xfe\x00\x08remark",
        b"\xff\xc2\x00\x0b\x08\x00\x24\x00\x40\x01\x01\x11\x00",
        bytes(9),
        b"\xff\xd9",
    )
)
SIZED = {
    PNG: (fake_pictures.png(640, 3), Size(640, 3)),
    EXR: (fake_pictures.exr(3, 2), Size(3, 2)),
    JPEG: (PHOTO, Size(64, 36)),
}


@pytest.mark.parametrize("kind", SIZED)
def test_a_picture_tells_its_kind_and_size_whatever_it_is_called(tmp_path: Path, kind: str) -> None:
    data, size = SIZED[kind]
    path = tmp_path / "file"
    path.write_bytes(data)
    assert (kind_of(path), size_of(path, "shot_0001")) == (kind, size)
    path.write_bytes(data[:-9])
    with pytest.raises(AttemptFailed, match="“shot_0001” is not a whole") as caught:
        size_of(path, "shot_0001")
    assert caught.value.cause is Cause.BAD_RESULT


def test_a_file_that_is_no_picture_has_no_size(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"", b"GIF89a", fake_pictures.JPEG):
        path.write_bytes(data)
        with pytest.raises(AttemptFailed, match="not a whole picture"):
            size_of(path, "file")


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
