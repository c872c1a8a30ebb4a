"""From a .blend on disk to the manifest: what comes along, and what is said about the rest."""

import hashlib
import os
import random
import shutil
from pathlib import Path

import pytest

from farm.assets import hashing
from farm.assets import pack as pack_room
from farm.assets.pack import pack
from farm.assets.trace import Needs
from farm.domain.errors import BadInput
from farm.domain.scene import Weight

WHOLE = b"BLENDER-v279" + bytes(4000) + b"ENDB" + bytes(28)


@pytest.fixture
def blend(tmp_path) -> Path:
    folder = tmp_path / "project" / "shots"
    folder.mkdir(parents=True)
    path = folder / "é 1.blend"
    path.write_bytes(WHOLE)
    return path


def needing(monkeypatch, *files: Path, **more) -> None:
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


def test_a_file_outside_gets_a_place_and_is_told(blend, tmp_path, monkeypatch):
    texture = tmp_path / "elsewhere" / "wood.png"
    texture.parent.mkdir()
    texture.write_bytes(b"wood")
    needing(monkeypatch, texture, far={texture})
    packed = pack(blend)
    name = f"_outside{texture.as_posix()}"
    assert packed.root == blend.parent
    assert set(packed.manifest.files) == {name, "é 1.blend"}
    assert packed.elsewhere == {name: texture}
    assert codes(packed) == ["outside"]
    assert packed.warnings[0].weight is Weight.NOTE
    assert packed.warnings[0].what.startswith("One file comes along")


def test_a_folder_of_that_very_name_is_not_mixed_with_files_from_outside(blend, tmp_path, monkeypatch):
    texture = tmp_path / "wood.png"
    texture.write_bytes(b"wood")
    (blend.parent / "_outside").mkdir()
    needing(monkeypatch, texture, far={texture})
    assert f"_outside_{texture.as_posix()}" in pack(blend).manifest.files


@pytest.mark.parametrize("path", ["/etc/hostname", "/proc/self/status", "{}/.ssh/id_rsa"])
def test_a_scene_from_anywhere_cannot_take_the_systems_and_hidden_files_along(
    blend, tmp_path, monkeypatch, path
):
    file = Path(path.format(tmp_path))
    if not file.exists():
        file.parent.mkdir()
        file.write_bytes(b"secret")
    needing(monkeypatch, file, far={file})
    packed = pack(blend)
    assert list(packed.manifest.files) == ["é 1.blend"]
    assert codes(packed) == ["left-out"]


def test_names_that_no_manifest_can_hold_are_spelled_in_letters(blend, monkeypatch):
    bad = blend.parent / "a\\b.png"
    raw = Path(os.fsdecode(os.fsencode(blend.parent) + b"/\xff_01.png"))
    for file in (bad, raw):
        file.write_bytes(b"x")
    needing(monkeypatch, bad, raw)
    packed = pack(blend)
    assert set(packed.manifest.files) == {"a_xfmb.png", "_xpp_01.png", "é 1.blend"}
    assert packed.elsewhere == {"a_xfmb.png": bad, "_xpp_01.png": raw}
    for found in packed.warnings:
        found.what.encode()  # can be printed and sent


def test_a_scene_whose_own_name_cannot_travel_is_refused(blend):
    bad = blend.with_name("a\\b.blend")
    blend.rename(bad)
    with pytest.raises(BadInput, match="cannot travel"):
        pack(bad)


def test_a_path_too_long_to_travel_is_left_out(blend, tmp_path, monkeypatch):
    deep = tmp_path
    for _ in range(5):
        deep /= "d" * 200
    deep.mkdir(parents=True)
    file = deep / "a.png"
    file.write_bytes(b"x")
    needing(monkeypatch, file, far={file}, users={file: {"image “A”": None}})
    packed = pack(blend)
    assert list(packed.manifest.files) == ["é 1.blend"]
    assert packed.warnings[0].what.endswith("has a name too long to travel (image “A”).")


def test_a_file_that_vanishes_meanwhile_is_left_out(blend, monkeypatch):
    needing(monkeypatch, blend.parent / "gone.png")
    packed = pack(blend)
    assert codes(packed) == ["left-out"]
    assert "cannot be read: no such file or directory" in packed.warnings[0].what


def test_a_file_that_is_being_written_is_left_out(blend, monkeypatch):
    texture = blend.parent / "wood.png"
    texture.write_bytes(b"x")
    needing(monkeypatch, texture)
    digest = hashing.hashlib.file_digest

    def slow(file, name):
        with texture.open("ab") as again:
            again.write(b"x")
        return digest(file, name)

    monkeypatch.setattr(hashing.hashlib, "file_digest", slow)
    packed = pack(blend)
    assert list(packed.manifest.files) == ["é 1.blend"]
    assert "was being written while it was read" in packed.warnings[0].what


def test_a_scene_saved_anew_while_it_was_traced_is_refused(blend, monkeypatch):
    needing(monkeypatch, blends={blend: (len(WHOLE) - 8, 0)})
    with pytest.raises(BadInput, match="was being written") as caught:
        pack(blend)
    assert caught.value.cure == "Wait until it is saved, then submit again."


def test_a_file_of_no_bytes_is_sent_and_told(blend, monkeypatch):
    texture = blend.parent / "wood.png"
    texture.touch()
    needing(monkeypatch, texture, users={texture: {"image “Wood”": None}})
    packed = pack(blend)
    assert "wood.png" in packed.manifest.files
    assert [one.what for one in packed.warnings] == [f"“{texture}” has no content (0 bytes) (image “Wood”)."]


def test_names_that_differ_by_case_alone_are_told_together(blend, monkeypatch):
    one, other = blend.parent / "Wood.png", blend.parent / "wood.png"
    for file in (one, other):
        file.write_bytes(b"x")
    needing(monkeypatch, one, other)
    packed = pack(blend)
    assert codes(packed) == ["names-clash"]
    assert packed.warnings[0].what == "“Wood.png” and “wood.png” differ by upper and lower case alone."


def test_one_file_under_two_spellings_is_no_clash(blend, monkeypatch):
    one, other = blend.parent / "Wood.png", blend.parent / "wood.png"
    one.write_bytes(b"x")
    other.hardlink_to(one)  # what a disk that ignores case shows
    needing(monkeypatch, one, other)
    assert codes(pack(blend)) == []


@pytest.mark.parametrize("name", ["aux.png", "a?.png", "dot.", "con"])
def test_names_that_windows_cannot_store_are_noted(blend, monkeypatch, name):
    file = blend.parent / name
    file.write_bytes(b"x")
    needing(monkeypatch, file)
    packed = pack(blend)
    assert name in packed.manifest.files
    assert [(one.code, one.weight) for one in packed.warnings] == [("not-portable", Weight.NOTE)]


def test_missing_files_are_told_with_those_that_use_them(blend, monkeypatch):
    path = Path("/p/no.png")
    users = dict.fromkeys(["image “A”", "image “B”", "image “C”", "image “D”"])
    needing(monkeypatch, missing={path: None}, users={path: users})
    found = pack(blend).warnings
    assert [one.code for one in found] == ["missing-file"]
    assert found[0].what == (
        "The scene points at “/p/no.png”, which is not there (image “A”, image “B”, image “C” and 1 more)."
    )
    assert found[0].cure


def test_libraries_that_link_each_other_are_noted(blend, monkeypatch):
    needing(monkeypatch, cycles=[(Path("/p/a.blend"), Path("/p/b.blend")), (Path("/p/c.blend"),)])
    assert [one.what for one in pack(blend).warnings] == [
        "“a.blend” and “b.blend” link each other in a circle.",
        "“c.blend” links datablocks from itself, which Blender leaves out.",
    ]


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
    "bat/linked_cube_compressed.blend": (1, ["missing-file"]),  # of its author's home
    "bat/missing_textures.blend": (1, ["missing-file", "missing-file"]),
    "bat/geometry-nodes/file_to_pack.blend": (3, []),  # a chain of links
    "bricabrac/Geometry Node/gnx_accordion.blend": (1, []),
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


@pytest.mark.corpus
@pytest.mark.parametrize("section", [b"NAME", b"TYPE"])
def test_a_description_that_counts_beyond_its_end_is_not_counted(corpus, tmp_path, section):
    data = bytearray(corpus("bat/absolute_path.blend").read_bytes())
    at = data.index(section, data.index(b"SDNANAME")) + len(section)
    data[at : at + 4] = b"\xff\xff\xff\xff"
    (tmp_path / "x.blend").write_bytes(data)
    packed = pack(tmp_path / "x.blend")
    assert list(packed.manifest.files) == ["x.blend"]
    assert [one.what for one in packed.warnings] == [
        "Not all of the scene's links could be read (Damaged in “x.blend”)."
    ]


@pytest.mark.corpus
def test_a_damaged_scene_is_refused_or_told_and_never_crashes(corpus, tmp_path):
    data = corpus("bat/doubly_linked.blend").read_bytes()
    dice = random.Random(1)  # noqa: S311  the same damage each time
    told = set()
    for _ in range(40):
        damaged = bytearray(data)
        for _ in range(dice.choice((1, 20, 400))):
            damaged[dice.randrange(17, len(data))] = dice.choice((0, 255, dice.randrange(256)))
        (tmp_path / "x.blend").write_bytes(damaged)
        told |= set(codes(pack(tmp_path / "x.blend")))
    assert told <= {"missing-file", "not-traced", "left-out"}
    assert "not-traced" in told
