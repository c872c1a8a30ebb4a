from __future__ import annotations

import hashlib
import os
from pathlib import Path
from threading import Event

import pytest

from addon import packing
from addon.packing import Finding, Pack, Use
from addon.places import Layout
from addon.trouble import Stopped, Trouble
from farm.domain.scene import SceneManifest


def found(path: Path, **use: object) -> tuple[list[str], list[Finding]]:
    findings: list[Finding] = []
    files = packing.sources((Use("Image “a”", "//a", str(path), **use),), findings)  # type: ignore[arg-type]
    return [Path(file).name for file in files], findings


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_a_sequence_brings_all_its_frames_and_no_other(tmp_path: Path) -> None:
    write(tmp_path, "s_001.png", "s_002.png", "s_x.png", "t_001.png", "s_003.jpg", "s_001.png.bak")
    assert found(tmp_path / "s_002.png", sequence=True) == (["s_001.png", "s_002.png"], [])
    assert found(tmp_path / "s_002.png") == (["s_002.png"], [])


def test_tiles_of_a_udim_picture_are_found(tmp_path: Path) -> None:
    write(tmp_path, "w.1001.png", "w.1012.png", "w.12.png", "w.1001.jpg")
    assert found(tmp_path / "w.<UDIM>.png") == (["w.1001.png", "w.1012.png"], [])


def test_a_cache_folder_is_brought_whole(tmp_path: Path) -> None:
    write(tmp_path / "cache", "a.vdb", "deep/b.vdb")
    assert sorted(found(tmp_path / "cache")[0]) == ["a.vdb", "b.vdb"]


def test_a_missing_file_is_told_with_all_that_use_it(tmp_path: Path) -> None:
    path = str(tmp_path / "no.png")
    findings: list[Finding] = []
    uses = (Use("Image “a”", "//no.png", path), Use("Image “b”", "//no.png", path))
    assert packing.sources((*uses, uses[0]), findings) == {}
    assert [one.what for one in findings] == [f"“{path}” is not there. It is used by Image “a”, Image “b”."]
    assert found(tmp_path / "cache", optional=True) == ([], [])


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    files, [finding] = found(tmp_path / "pipe.png")
    assert files == []
    assert "is not there" in finding.what


def test_the_manifest_is_one_that_the_farm_takes(tmp_path: Path) -> None:
    write(tmp_path, "shot.blend", "tex/ü b.png", "back\\slash.png")
    files = {str(path): str(path) for path in (tmp_path / "tex/ü b.png", tmp_path / "back\\slash.png")}
    pack, findings, read = Pack("shot.blend"), [], []
    layout = Layout(str(tmp_path))
    packing.gathered(
        pack,
        layout,
        {**files, str(tmp_path / "gone"): str(tmp_path / "gone")},
        findings,
        Event(),
        read.append,
    )
    packing.add(pack, "shot.blend", str(tmp_path / "shot.blend"), Event())
    manifest = SceneManifest.model_validate(pack.manifest())
    assert set(manifest.files) == {"shot.blend", "tex/ü b.png"}
    assert manifest.files["shot.blend"].sha256 == hashlib.sha256(b"shot.blend").hexdigest()
    assert [one.what.split("” ")[1].split(",")[0] for one in findings] == [
        "has a name that does not travel",
        "cannot be read (no such file or directory)",
    ]
    assert sum(read) == len("tex/ü b.png".encode())


def test_a_file_that_changes_on_the_way_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    pack = Pack("a")
    packing.add(pack, "a", str(path), Event())
    for content in (b"1234", b"123456"):
        path.write_bytes(content)
        sent: list[int] = []
        with pytest.raises(Trouble, match="changed while it was being sent"):
            list(packing.pieces(pack.files["a"], sent.append, Event()))
        assert sum(sent) == 0  # what does not count is taken back
    path.unlink()
    with pytest.raises(Trouble, match="cannot be read"):
        list(packing.pieces(pack.files["a"], sent.append, Event()))


def test_reading_and_sending_end_when_the_artist_stops(tmp_path: Path) -> None:
    stopped = Event()
    stopped.set()
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    with pytest.raises(Stopped):
        packing.add(Pack("a"), "a", str(path), stopped)
    with pytest.raises(Stopped):
        list(packing.pieces(packing.Local(str(path), "", 5), lambda _: None, stopped))
