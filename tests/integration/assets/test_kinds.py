"""A scene of many kinds of files, all named by full paths, renders elsewhere as at home."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from farm.assets.pack import Packed, pack
from tests.integration.assets.conftest import away, blender, opened
from tests.integration.blender.driver import read_exr, same_bits

#: Below the folder of the scene's things, but for bakes, whose folder has a number for a name.
OUTSIDE = {
    *("tex/wood.png", "tex/stone.tx", "lib tex/ziegel ß.png"),
    *("seq [a]/s_001.png", "seq [a]/s_002.png", "seq [a]/s_003.png"),
    *("udim/t.1001.png", "udim/t.1002.png"),
    *("vdb/fog_1.vdb", "vdb/fog_2.vdb", "vdb/fog_3.vdb"),
    *("kit/kit.blend", "lib mats/mats.blend", "fonts/face.woff2", "sound/beep.wav"),
    *("caches/cube.abc", "caches/cube.usdc", "caches/move.mdd", "meshes/tri.ply"),
    *("osl/half.osl", "osl/half.oso", "ies/lamp.ies", "clip/c01.png", "clip/c02.png", "clip/film.mkv"),
    *("strip/v1.png", "strip/v2.png"),
}
CLOTH = "blendcache_shot é/436C6F7468_00000{}_00.bphys"  # the object's name in hexadecimal


@pytest.fixture(scope="module", params=["plain", "compressed"])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("artist") / "home"
    root.mkdir()
    blender("build_kinds.py", root, request.param)
    return root / "project" / "shots" / "shot é.blend"


def home(scene: Path) -> Path:
    return scene.parents[2]


def digests(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and "blender_tx" not in path.parts
    }


def test_every_kind_of_file_is_found_and_gets_a_place(scene: Path) -> None:
    root = home(scene)
    packed = pack(scene)
    outside = f"_outside{root.as_posix()}/"
    bakes = {name for name in packed.manifest.files if name.startswith(f"{outside}bakes/nodes/")}
    assert {Path(name).parent.name for name in bakes} == {"meta", "blobs"}
    assert set(packed.manifest.files) - bakes == {
        "shot é.blend",
        *(outside + name for name in OUTSIDE),
        *(CLOTH.format(frame) for frame in (1, 2, 3)),
    }
    assert [one.code for one in packed.warnings] == ["outside"]


def test_the_same_scene_packs_to_the_same_bytes_and_stays_as_it_was(scene: Path) -> None:
    before = digests(home(scene))
    first, second = pack(scene), pack(scene)
    assert first.manifest.scene_id == second.manifest.scene_id
    assert first.manifest.files["shot é.blend"].sha256 != before["project/shots/shot é.blend"]
    assert digests(home(scene)) == before


def test_a_copy_is_packed_as_the_original(scene: Path) -> None:
    packed = pack(scene)
    copy = packed.elsewhere["shot é.blend"]
    assert copy.read_bytes()[:4] == scene.read_bytes()[:4]
    assert copy.stat().st_size < scene.stat().st_size * 1.1


def test_copies_are_gone_with_the_packed_scene(scene: Path) -> None:
    packed = pack(scene)
    folder = packed.elsewhere["shot é.blend"].parent
    assert folder.is_dir()
    del packed
    assert not folder.exists()


def test_elsewhere_nothing_is_missing_and_pictures_are_the_same(
    scene: Path, tmp_path: Path, laid_out: Callable[[Packed], Path]
) -> None:
    at_home = opened(scene, tmp_path / "home")
    there = laid_out(pack(scene))
    with away(home(scene)):
        elsewhere = opened(there, tmp_path / "there")
    assert at_home.missing == elsewhere.missing == []
    assert elsewhere.lost == []
    assert elsewhere.cloth == at_home.cloth == [[True, "3 frames on disk."]]
    assert elsewhere.strips == at_home.strips
    outside = f"{there.parent}/_outside{home(scene)}"
    assert elsewhere.paths == [path.replace(str(home(scene)), outside) for path in at_home.paths]
    assert len(elsewhere.paths) == 21
    for kind in ("fog", "osl"):
        pictures = [read_exr(tmp_path / f"{place}-{kind}.exr") for place in ("home", "there")]
        assert same_bits(*pictures) == []
        assert max(float(channel.max()) for channel in pictures[0].values()) >= 1


def test_without_some_files_the_picture_is_another_and_they_are_told(
    scene: Path, tmp_path: Path, laid_out: Callable[[Packed], Path]
) -> None:
    """The comparison above can fail: what is taken away shows."""
    packed = pack(scene)
    opened(laid_out(packed), tmp_path / "whole")
    taken = ("tex/wood.png", "osl/half.osl", "osl/half.oso", "ies/lamp.ies", "meshes/tri.ply")
    gone = {f"_outside{home(scene)}/{name}" for name in taken}
    files = {name: blob for name, blob in packed.manifest.files.items() if name not in gone}
    assert len(files) == len(packed.manifest.files) - len(taken)
    less = Packed(
        packed.manifest.model_copy(update={"files": files}),
        packed.root,
        packed.version,
        elsewhere=packed.elsewhere,
    )
    there = laid_out(less)
    with away(home(scene)):
        lacking = opened(there, tmp_path / "lacking")
    assert lacking.missing == [
        "Images whose files are not there: “wood.png”.",
        "Nodes whose files are not there: “Lamp”, “Script”, “Baked”.",
    ]
    pictures = [read_exr(tmp_path / f"{one}-fog.exr") for one in ("whole", "lacking")]
    assert same_bits(*pictures) != []
