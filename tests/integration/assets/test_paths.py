"""Paths of every sort, links on disk, and libraries in circles."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from farm.assets.pack import Packed, pack
from tests.integration.assets.conftest import away, built, opened

LaidOut = Callable[[Packed], Path]

ONE_IMAGE = """
image = bpy.data.images.load(kinds.picture(root / "proj" / "tex" / "a.png", (1, 0, 0)))
kinds.textured(image, 0, 0)
image.filepath = {path!r}
save(root / "proj" / "shot.blend")
"""


def codes(packed: Packed) -> list[str]:
    return [found.code for found in packed.warnings]


def test_a_scene_of_relative_paths_is_sent_as_it_is(tmp_path: Path) -> None:
    built(tmp_path, ONE_IMAGE.format(path="//tex/a.png"))
    packed = pack(tmp_path / "proj" / "shot.blend")
    assert sorted(packed.manifest.files) == ["shot.blend", "tex/a.png"]
    assert packed.elsewhere == {}
    assert packed.warnings == ()


def test_backslashes_of_a_relative_path_need_no_copy(tmp_path: Path, laid_out: LaidOut) -> None:
    built(tmp_path, ONE_IMAGE.format(path="//tex\\a.png"))
    packed = pack(tmp_path / "proj" / "shot.blend")
    assert packed.elsewhere == {}
    assert opened(laid_out(packed)).missing == []


def test_a_full_path_below_the_scenes_folder_keeps_its_place(tmp_path: Path, laid_out: LaidOut) -> None:
    built(tmp_path, ONE_IMAGE.format(path=str(tmp_path / "proj" / "tex" / "a.png")))
    packed = pack(tmp_path / "proj" / "shot.blend")
    assert sorted(packed.manifest.files) == ["shot.blend", "tex/a.png"]
    there = laid_out(packed)
    with away(tmp_path / "proj"):
        found = opened(there)
    assert found.missing == []
    assert found.paths == [f"{there.parent}/tex/a.png"]
    assert codes(packed) == []


@pytest.mark.parametrize("path", ["D:\\tex\\a.png", "\\\\server\\share\\a.png", "/no/a.png", "//no/a.png"])
def test_what_is_not_there_is_told_as_the_scene_writes_it(tmp_path: Path, path: str) -> None:
    built(tmp_path, ONE_IMAGE.format(path=path))
    packed = pack(tmp_path / "proj" / "shot.blend")
    shown = f"{tmp_path}/proj/no/a.png" if path.startswith("//") else path
    assert [one.what for one in packed.warnings] == [
        f"The scene points at “{shown}”, which is not there (image “a.png”)."
    ]
    assert list(packed.manifest.files) == ["shot.blend"]


def test_links_on_disk_travel_as_what_they_lead_to(tmp_path: Path, laid_out: LaidOut) -> None:
    built(tmp_path, ONE_IMAGE.format(path="//tex/link.png"))
    (tmp_path / "store").mkdir()
    (tmp_path / "proj" / "tex" / "a.png").rename(tmp_path / "store" / "b.png")
    (tmp_path / "proj" / "tex" / "link.png").symlink_to(tmp_path / "store" / "b.png")
    packed = pack(tmp_path / "proj" / "shot.blend")
    assert sorted(packed.manifest.files) == ["shot.blend", "tex/link.png"]
    there = laid_out(packed)
    with away(tmp_path / "store"):
        assert opened(there).missing == []
    assert not (there.parent / "tex" / "link.png").is_symlink()


def test_a_link_that_leads_to_itself_is_told(tmp_path: Path) -> None:
    built(tmp_path, ONE_IMAGE.format(path="//tex/loop.png"))
    loop = tmp_path / "proj" / "tex" / "loop.png"
    loop.symlink_to(loop)
    packed = pack(tmp_path / "proj" / "shot.blend")
    assert [(one.code, one.what) for one in packed.warnings] == [
        ("link-loop", f"“{loop}” is a link that leads back to itself (image “a.png”).")
    ]


def test_a_name_that_is_no_text_travels(tmp_path: Path, laid_out: LaidOut) -> None:
    built(tmp_path, ONE_IMAGE.format(path="//tex/xx.png"))
    raw = os.fsencode(tmp_path / "proj" / "tex") + b"/\xe9\xff.png"
    os.rename(tmp_path / "proj" / "tex" / "a.png", os.fsdecode(raw))  # noqa: PTH104
    blend = tmp_path / "proj" / "shot.blend"
    data = blend.read_bytes()
    assert data.count(b"//tex/xx.png\0") == 1
    blend.write_bytes(data.replace(b"//tex/xx.png\0", b"//tex/\xe9\xff.png\0"))
    packed = pack(blend)
    assert sorted(packed.manifest.files) == ["shot.blend", "tex/_xoj_xpp.png"]
    assert opened(laid_out(packed)).missing == []


CIRCLE = """
def linked(path, kind, name):
    with bpy.data.libraries.load(str(path), link=True, relative=True) as (_, wanted):
        setattr(wanted, kind, [name])
    return getattr(wanted, kind)[0]

a, b = root / "a.blend", root / "b.blend"
kinds.emitting("Skin")[0].use_fake_user = True
save(a)
kinds.empty()
save(b)
kinds.plane(0, 0, linked(a, "materials", "Skin")).name = "Thing"
save(b)
kinds.empty()
kinds.emitting("Skin")[0].use_fake_user = True
save(a)
bpy.context.scene.collection.objects.link(linked(b, "objects", "Thing"))
save(a)
"""


def test_libraries_that_link_each_other_travel_and_are_noted(tmp_path: Path, laid_out: LaidOut) -> None:
    built(tmp_path, CIRCLE)
    packed = pack(tmp_path / "a.blend")
    assert sorted(packed.manifest.files) == ["a.blend", "b.blend"]
    assert [one.what for one in packed.warnings] == ["“a.blend” and “b.blend” link each other in a circle."]
    assert opened(laid_out(packed)).lost == []


def test_a_library_that_links_itself_is_noted(tmp_path: Path) -> None:
    built(tmp_path, CIRCLE)
    (tmp_path / "a.blend").replace(tmp_path / "b.blend")  # it linked its objects from b.blend
    packed = pack(tmp_path / "b.blend")
    assert list(packed.manifest.files) == ["b.blend"]
    assert [one.what for one in packed.warnings] == [
        "“b.blend” links datablocks from itself, which Blender leaves out."
    ]


OVERRIDDEN = """
thing = kinds.plane(0, 0, kinds.emitting("Skin")[0])
thing.name = "Thing"
image = bpy.data.images.load(kinds.picture(root / "kit" / "tex" / "a.png", (1, 0, 0)))
node = thing.data.materials[0].node_tree.nodes.new("ShaderNodeTexImage")
node.image = image
image.filepath = "//tex/a.png"
save(root / "kit" / "kit.blend")
kinds.empty()
kit = str(root / "kit" / "kit.blend")
with bpy.data.libraries.load(kit, link=True, pack={pack}, relative=False) as (_, wanted):
    wanted.objects = ["Thing"]
thing = wanted.objects[0]
bpy.context.scene.collection.objects.link(thing)
{change}
save(root / "proj" / "shot.blend")
"""


def test_overrides_of_a_library_named_by_its_full_path_hold(tmp_path: Path, laid_out: LaidOut) -> None:
    change = "thing.override_create(remap_local_usages=True).location.x = 3"
    built(tmp_path, OVERRIDDEN.format(change=change, pack=False))
    packed = pack(tmp_path / "proj" / "shot.blend")
    outside = f"_outside{tmp_path}/kit"
    assert sorted(packed.manifest.files) == [f"{outside}/kit.blend", f"{outside}/tex/a.png", "shot.blend"]
    assert f"{outside}/kit.blend" in packed.elsewhere
    library = packed.elsewhere[f"{outside}/kit.blend"]
    assert library == tmp_path / "kit" / "kit.blend"  # its own paths hold beside it: no copy is needed
    there = laid_out(packed)
    with away(tmp_path / "kit"):
        found = opened(there)
    assert (found.missing, found.lost) == ([], [])
    assert found.overrides == {"Thing": [3.0, 0.0, 0.0]}


def test_files_of_packed_libraries_are_found_from_where_the_library_was(
    tmp_path: Path, laid_out: LaidOut
) -> None:
    built(tmp_path, OVERRIDDEN.format(change="", pack=True))
    (tmp_path / "kit" / "kit.blend").unlink()
    packed = pack(tmp_path / "proj" / "shot.blend")
    assert sorted(packed.manifest.files) == [f"_outside{tmp_path}/kit/tex/a.png", "shot.blend"]
    assert codes(packed) == ["outside"]
    there = laid_out(packed)
    with away(tmp_path / "kit"):
        found = opened(there)
    assert (found.missing, found.lost) == ([], [])
    assert f"{there.parent}/_outside{tmp_path}/kit/tex/a.png" in found.paths
