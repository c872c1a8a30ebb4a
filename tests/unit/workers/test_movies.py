from __future__ import annotations

import struct
from pathlib import Path

import pytest

from farm.domain.work import Cause
from workers.failures import AttemptFailed
from workers.movies import check_movie


def box(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(data), name) + data


def long_box(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I4sQ", 1, name, 16 + len(data)) + data


MP4 = box(b"ftyp", b"isom") + long_box(b"mdat", bytes(100)) + box(b"moov", bytes(20))
MKV = b"\x1a\x45\xdf\xa3\x84" + bytes(4) + b"\x18\x53\x80\x67\x01" + (300).to_bytes(7, "big") + bytes(300)
AVI = (
    b"RIFF"
    + struct.pack("<I", 41)
    + b"AVI "
    + bytes(38)
    + b"RIFF"
    + struct.pack("<I", 6)
    + b"AVIX"
    + bytes(2)
)
WHOLE = {"a.mp4": MP4, "a.mov": MP4, "a.mkv": MKV, "a.webm": MKV, "a.avi": AVI, "a.ogv": b"OggS", "a": b"x"}


def check(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    check_movie(path, name)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_movies_pass_and_empty_ones_do_not(tmp_path: Path, name: str) -> None:
    check(tmp_path, name, WHOLE[name])
    with pytest.raises(AttemptFailed, match="empty file") as caught:
        check(tmp_path, name, b"")
    assert caught.value.cause is Cause.BAD_RESULT


@pytest.mark.parametrize("lost", [1, 10, 30])
@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv", "a.webm", "a.avi"])
def test_movies_cut_short_do_not_pass(tmp_path: Path, name: str, lost: int) -> None:
    with pytest.raises(AttemptFailed, match="not a whole movie") as caught:
        check(tmp_path, name, WHOLE[name][:-lost])
    assert caught.value.cause is Cause.BAD_RESULT


UNFINISHED = {
    "no moov": ("a.mp4", MP4[:-28]),
    "a box of no size": ("a.mp4", box(b"ftyp", b"isom") + bytes(8) + box(b"moov", b"")),
    "a box beyond the end": ("a.mp4", struct.pack(">I4s", 1 << 31, b"mdat") + bytes(9)),
    "a size not yet known": ("a.mkv", MKV[:13] + b"\x01" + b"\xff" * 7 + bytes(300)),
    "no segment": ("a.mkv", MKV[:9]),
    "no number": ("a.mkv", MKV[:13] + bytes(8)),
    "no EBML": ("a.webm", b"x" * 100),
    "no RIFF": ("a.avi", b"x" * 100),
    "more after its end": ("a.mkv", MKV + b"x"),
}


@pytest.mark.parametrize("case", UNFINISHED)
def test_movies_that_were_not_finished_do_not_pass(tmp_path: Path, case: str) -> None:
    with pytest.raises(AttemptFailed, match="not a whole movie"):
        check(tmp_path, *UNFINISHED[case])
