"""Files in the artist's folder: whole or not at all, and never over something else."""

import errno
import hashlib
from pathlib import Path

import pytest

from farm.client.delivery import destination, is_there, save
from farm.domain.errors import BadInput, Conflict, StorageFull, TesseraError, Unavailable
from farm.domain.views import OutputView
from farm.domain.work import Role

DATA = b"picture" * 1000


def output(name: str = "shot_0001.png", data: bytes = DATA) -> OutputView:
    return OutputView(
        id=1,
        role=Role.OUTPUT,
        name=name,
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        media_type="image/png",
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_an_output_lands_whole_in_folders_made_for_it(tmp_path):
    path = tmp_path / "a" / "b.png"
    save([DATA[:10], DATA[10:]], output(), path, overwrite=False)
    assert path.read_bytes() == DATA
    assert names(tmp_path) == ["a", "b.png"]


@pytest.mark.parametrize("pieces", [[DATA[:-1]], [DATA, b"x"], [b"P" + DATA[1:]], []])
def test_wrong_bytes_are_refused_and_leave_nothing(tmp_path, pieces):
    with pytest.raises(Unavailable, match="arrived damaged"):
        save(pieces, output(), tmp_path / "b.png", overwrite=True)
    assert names(tmp_path) == []


def test_a_file_in_the_way_stays(tmp_path):
    path = tmp_path / "b.png"
    path.write_bytes(b"mine")
    with pytest.raises(Conflict) as caught:
        save([DATA], output(), path, overwrite=False)
    assert "--overwrite" in caught.value.cure
    assert path.read_bytes() == b"mine"
    assert names(tmp_path) == ["b.png"]


def test_overwrite_replaces_it(tmp_path):
    path = tmp_path / "b.png"
    path.write_bytes(b"mine")
    save([DATA], output(), path, overwrite=True)
    assert path.read_bytes() == DATA


def test_a_break_in_the_middle_keeps_what_was_there(tmp_path):
    def broken():
        yield DATA[:100]
        raise Unavailable("The line broke.")

    path = tmp_path / "b.png"
    path.write_bytes(b"mine")
    with pytest.raises(Unavailable):
        save(broken(), output(), path, overwrite=True)
    assert path.read_bytes() == b"mine"
    assert names(tmp_path) == ["b.png"]


def test_without_hard_links_a_file_in_the_way_still_stays(tmp_path, monkeypatch):
    def no_links(self, target):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    save([DATA], output(), tmp_path / "b.png", overwrite=False)
    assert (tmp_path / "b.png").read_bytes() == DATA
    with pytest.raises(Conflict):
        save([DATA], output(), tmp_path / "b.png", overwrite=False)


def test_a_full_disk_is_said_in_words(tmp_path):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device")
        yield b""

    with pytest.raises(StorageFull, match="No room left"):
        save(full(), output(), tmp_path / "b.png", overwrite=False)
    assert names(tmp_path) == []


def test_a_folder_that_is_a_file_is_said_in_words(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(BadInput, match="cannot be written"):
        save([DATA], output(), tmp_path / "a" / "b.png", overwrite=False)


def test_is_there_asks_for_the_same_bytes(tmp_path):
    path = tmp_path / "b.png"
    assert not is_there(output(), path)
    path.write_bytes(DATA)
    assert is_there(output(), path)
    path.write_bytes(DATA[:-1] + b"x")
    assert not is_there(output(), path)


@pytest.mark.parametrize("name", ["../b.png", "a/../../b.png", "/etc/b.png", "", ".", "a\\..\\b.png", "a\0b"])
def test_names_that_climb_out_are_refused(tmp_path, name):
    with pytest.raises(TesseraError, match="unsafe name"):
        destination(tmp_path, output(name))


def test_names_with_folders_stay_inside(tmp_path):
    assert destination(tmp_path, output("layer/é 0001.png")) == tmp_path / "layer" / "é 0001.png"
