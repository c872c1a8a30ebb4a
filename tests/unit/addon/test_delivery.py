from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from addon import delivery
from addon.trouble import Trouble


def output(content: bytes, name: str = "a.png") -> dict[str, object]:
    return {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "frames" / "a.png"
    with pytest.raises(Trouble, match="arrived damaged") as told:
        delivery.save([b"12", b"35"], output(b"1234"), path)
    assert told.value.away
    assert list(path.parent.iterdir()) == []
    assert delivery.save([b"12", b"34"], output(b"1234"), path)
    assert path.read_bytes() == b"1234"
    assert list(path.parent.iterdir()) == [path]
    assert delivery.is_there(output(b"1234"), path)
    assert not delivery.is_there(output(b"1235"), path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"mine")
    assert delivery.save([b"1234"], output(b"1234"), path) is False
    assert path.read_bytes() == b"mine"


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "frames").write_bytes(b"")
    with pytest.raises(Trouble, match="cannot be written"):
        delivery.save([b"1"], output(b"1"), tmp_path / "frames" / "a.png")


@pytest.mark.parametrize("name", ["../a.png", "/a.png", "", "a/../../b", "a\\b", "a\0"])
def test_a_name_that_climbs_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Trouble, match="unsafe name"):
        delivery.destination(tmp_path, name)


def test_a_job_s_folder_has_a_name_that_every_system_takes() -> None:
    assert delivery.folder_name('a/b: "c"?', "x2y3") == "a_b_ _c_ x2y3"
    assert delivery.folder_name("..", "x2y3") == "x2y3"
