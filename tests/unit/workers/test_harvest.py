from __future__ import annotations

import os
from pathlib import Path

import pytest

from farm.domain.work import Cause
from workers.failures import AttemptFailed
from workers.harvest import harvest


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "attempt" / "out"
    folder.mkdir(parents=True)
    return folder


def take(out: Path, *names: str, most_files: int = 10, most_bytes: int = 1000) -> dict[str, bytes]:
    base = out.parent.parent
    found = harvest(base, "attempt/out", names, base / "kept", most_files=most_files, most_bytes=most_bytes)
    return {one.name: one.path.read_bytes() for one in found}


def refused(out: Path, *names: str, **limits: int) -> str:
    with pytest.raises(AttemptFailed) as caught:
        take(out, *names, **limits)
    assert caught.value.cause is Cause.BAD_RESULT
    return caught.value.what


def test_named_files_are_copied_once_and_nothing_else(out: Path) -> None:
    (out / "deep").mkdir()
    (out / "deep" / "a.png").write_bytes(b"a")
    (out / "b.png").write_bytes(b"b")
    (out / "c.png").write_bytes(b"c")
    assert take(out, "deep/a.png", "./b.png", "b.png") == {"deep/a.png": b"a", "b.png": b"b"}


@pytest.mark.parametrize(
    "name", ["../a", "/etc/passwd", "a/../../b", "", ".", "a\\b", "a\nb", "a\0b", "\x1b[2J"]
)
def test_names_that_leave_the_folder_or_lie_are_refused(out: Path, name: str) -> None:
    assert "no path inside" in refused(out, name)


def test_names_too_long_for_an_artist_s_disk_are_refused(out: Path) -> None:
    assert "too long" in refused(out, "a" * 201)
    assert "too long" in refused(out, "a/" * 16 + "b")


def test_links_are_not_followed_at_any_depth(out: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_bytes(b"k")
    (out / "file").symlink_to(secret / "key")
    (out / "folder").symlink_to(secret)
    os.link(secret / "key", out / "hard")
    for name in ("file", "folder/key", "hard"):
        assert "not a plain file" in refused(out, name)


def test_the_output_folder_itself_may_be_a_link(out: Path, tmp_path: Path) -> None:
    out.rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a").write_bytes(b"a")
    out.symlink_to(tmp_path / "elsewhere")
    assert "not a plain file" in refused(out, "a")


def test_folders_and_pipes_are_refused_without_waiting_for_anybody(out: Path) -> None:
    (out / "folder").mkdir()
    os.mkfifo(out / "pipe")
    for name in ("folder", "pipe"):
        assert "not a plain file" in refused(out, name)


def test_a_file_that_is_not_there_is_told(out: Path) -> None:
    assert refused(out, "a.png") == "Blender said that it wrote “a.png”, but it is not there."


def test_too_many_files_and_too_many_bytes_are_refused(out: Path) -> None:
    for name in "abc":
        (out / name).write_bytes(b"x" * 400)
    assert "3 files" in refused(out, "a", "b", "c", most_files=2)
    assert "more for one frame" in refused(out, "a", "b", "c")
