"""From a .blend on disk to the manifest: what comes along, and what is said about the rest."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from farm.assets import pack as pack_room
from farm.assets.pack import pack
from farm.assets.trace import Needs
from farm.domain.errors import BadInput

WHOLE = b"BLENDER-v279" + bytes(4000) + b"ENDB" + bytes(28)


@pytest.fixture
def blend(tmp_path) -> Path:
    folder = tmp_path / "project" / "shots"
    folder.mkdir(parents=True)
    path = folder / "é 1.blend"
    path.write_bytes(WHOLE)
    return path


def needing(monkeypatch, *files: Path, **more: dict) -> None:
    """Let the tracer find exactly this."""
    monkeypatch.setattr(pack_room, "needs_of", lambda _: Needs(files=dict.fromkeys(files), **more))


def codes(packed) -> list[str]:
    return [found.code for found in packed.warnings]


def test_a_scene_alone_is_its_own_root(blend, monkeypatch):
    needing(monkeypatch)
    packed = pack(blend)
    assert packed.root == blend.parent
    assert packed.manifest.main == "é 1.blend"
    assert packed.manifest.files["é 1.blend"].sha256 == hashlib.sha256(WHOLE).hexdigest()
    assert packed.manifest.bytes == len(WHOLE)
    assert packed.version == "2.79"


def test_the_root_is_the_deepest_folder_that_holds_all(blend, monkeypatch):
    texture = blend.parent.parent / "textures" / "wood.png"
    texture.parent.mkdir()
    texture.write_bytes(b"wood")
    needing(monkeypatch, texture)
    packed = pack(blend)
    assert packed.root == blend.parent.parent
    assert packed.manifest.main == "shots/é 1.blend"
    assert list(packed.manifest.files) == ["shots/é 1.blend", "textures/wood.png"]


def test_a_relative_path_with_dots_gives_the_same_scene(blend, monkeypatch):
    needing(monkeypatch)
    monkeypatch.chdir(blend.parent)
    assert pack(Path("..") / "shots" / blend.name) == pack(blend)


def test_the_same_files_are_the_same_scene_wherever_they_lie(blend, tmp_path, monkeypatch):
    needing(monkeypatch)
    other = tmp_path / "elsewhere"
    shutil.copytree(blend.parent, other)
    assert pack(other / blend.name).manifest.scene_id == pack(blend).manifest.scene_id


def test_what_shares_only_the_file_systems_root_is_left_out(blend, monkeypatch):
    needing(monkeypatch, Path("/etc/hostname"))
    packed = pack(blend)
    assert list(packed.manifest.files) == ["é 1.blend"]
    assert codes(packed) == ["left-out"]


def test_names_that_cannot_travel_are_left_out(blend, monkeypatch):
    bad = blend.parent / "a\\b.png"
    bad.write_bytes(b"")
    raw = Path(os.fsdecode(os.fsencode(blend.parent) + b"/\xff.png"))
    raw.write_bytes(b"")
    needing(monkeypatch, bad, raw)
    packed = pack(blend)
    assert list(packed.manifest.files) == ["é 1.blend"]
    assert codes(packed) == ["left-out", "left-out"]
    for found in packed.warnings:
        found.what.encode()  # can be printed and sent


def test_a_file_that_vanishes_meanwhile_is_left_out(blend, monkeypatch):
    needing(monkeypatch, blend.parent / "gone.png")
    assert codes(pack(blend)) == ["left-out"]


def test_missing_and_absolute_files_are_warnings_with_cures(blend, monkeypatch):
    needing(monkeypatch, missing={Path("/p/no.png"): None}, absolute={"C:/tex.png": None})
    found = pack(blend).warnings
    assert [one.code for one in found] == ["missing-file", "absolute-path"]
    assert found[0].what == "The scene points at “/p/no.png”, which is not there."
    assert all(one.cure for one in found)


def test_what_is_no_scene_is_refused(tmp_path):
    with pytest.raises(BadInput):
        pack(tmp_path / "no.blend")


def test_a_file_that_only_looks_like_a_scene_is_sent_alone_with_a_warning(blend):
    packed = pack(blend)
    assert list(packed.manifest.files) == ["é 1.blend"]
    assert codes(packed) == ["not-traced"]


CASES = {
    "appleseed/file linking/01 - basic linking.blend": (3, []),  # backslashes, spaces
    "bat/recursive_dependency_1.blend": (2, []),  # two files that link each other
    "bat/subdir/doubly_linked_up-windows.blend": (3, ["missing-file"]),
    "bat/udim/v01_UDIM_BAT_debugging.blend": (4, []),
    "bat/image_sequencer.blend": (6, ["missing-file"]),
    "bat/T55542-smoke/smoke_cache_vdb.blend": (11, []),
    "bat/alembic-sequence-user.blend": (7, []),
    "bat/linked_cube_compressed.blend": (1, ["absolute-path"]),
    "bat/missing_textures.blend": (1, ["missing-file", "missing-file"]),
    "bat/geometry-nodes/file_to_pack.blend": (3, []),  # a chain of links
    "bricabrac/Geometry Node/gnx_accordion.blend": (1, ["not-traced"]),  # the tracer fails
    "bricabrac/Geometry Node/gnx_langton_ant.blend": (1, []),
    "gltfio/scenes/33_udim.blend": (17, []),
    "engineer-sleep/bedroom.blend": (111, []),
    "scivis-vdb/rendering.blend": (2, []),
    "gltfio/scenes/28_sk_no_reset.blend": (1, []),  # saved by a newer Blender
}


@pytest.mark.corpus
@pytest.mark.parametrize("name", CASES)
def test_real_scenes_bring_what_they_need(corpus, name):
    packed = pack(corpus(name))
    assert (len(packed.manifest.files), codes(packed)) == CASES[name]
    for path, blob in packed.manifest.files.items():
        assert (packed.root / path).stat().st_size == blob.bytes


@pytest.mark.corpus
def test_a_library_that_is_a_pipe_is_never_opened(corpus, tmp_path):
    shutil.copy(corpus("bat/linked_cube.blend"), tmp_path / "linked_cube.blend")
    os.mkfifo(tmp_path / "basic_file.blend")
    packed = pack(tmp_path / "linked_cube.blend")
    assert list(packed.manifest.files) == ["linked_cube.blend"]
    assert "missing-file" in codes(packed)


@pytest.mark.corpus
def test_a_broken_library_costs_only_itself(corpus, tmp_path):
    shutil.copy(corpus("bat/linked_cube.blend"), tmp_path / "linked_cube.blend")
    (tmp_path / "basic_file.blend").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    packed = pack(tmp_path / "linked_cube.blend")
    assert list(packed.manifest.files) == ["basic_file.blend", "linked_cube.blend"]
    assert codes(packed) == ["not-traced"]
