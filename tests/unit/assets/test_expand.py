"""Which files a path stands for."""

import pytest

from farm.assets.expand import files_of
from farm.assets.links import Link, Shape


@pytest.fixture
def found(tmp_path):
    """Names of the files that a link stands for, in a folder that holds those given."""

    def find(shape, name, *there, inside=()):
        for one in there:
            (tmp_path / one).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / one).touch()
        link = Link("", b"//x", shape, inside=inside)
        return [path.relative_to(tmp_path).as_posix() for path in files_of(link, tmp_path / name)]

    return find


def test_the_last_number_of_a_name_counts_frames(found):
    there = ("s2_010.png", "s2_011.png", "s3_010.png", "s2_010.jpg", "s2_x.png", "s2_012.png.tmp")
    assert found(Shape.SEQUENCE, "s2_010.png", *there) == ["s2_010.png", "s2_011.png"]


def test_a_number_may_stand_before_other_words_and_brackets(found):
    there = ("a[1]_0001_left.exr", "a[1]_0002_left.exr", "a[1]_0001_right.exr")
    assert found(Shape.SEQUENCE, "a[1]_0001_left.exr", *there) == ["a[1]_0001_left.exr", "a[1]_0002_left.exr"]


def test_digits_of_the_extension_are_no_frames(found):
    assert found(Shape.SEQUENCE, "a_1.mp4", "a_1.mp4", "a_2.mp4", "a_1.mp3") == ["a_1.mp4", "a_2.mp4"]
    assert found(Shape.SEQUENCE, "a.jp2", "a.jp2", "a.jp3") == ["a.jp2"]


def test_tiles_are_those_with_a_tiles_number(found):
    there = ("w.1001.png", "w.1012.png", "w.2001.png", "w.10011.png", "w.back.png")
    assert found(Shape.TILES, "w.<UDIM>.png", *there) == ["w.1001.png", "w.1012.png"]
    assert found(Shape.TILES, "w.1001.png", *there) == ["w.1001.png", "w.1012.png"]
    assert found(Shape.TILES, "v_<UVTILE>.png", "v_u1_v1.png", "v_u2_v1.png", "v_u1.png") == [
        "v_u1_v1.png",
        "v_u2_v1.png",
    ]


def test_what_is_not_there_is_named_as_it_is(found):
    assert found(Shape.SEQUENCE, "no_01.png") == ["no_01.png"]
    assert found(Shape.TILES, "no.<UDIM>.png") == ["no.<UDIM>.png"]
    assert found(Shape.NAMES, "strip", "strip/a.png", inside=(b"a.png", b"[b].png")) == [
        "strip/a.png",
        "strip/[b].png",
    ]


def test_of_a_folder_come_only_files_that_the_cache_writes(found):
    there = ("c [1]/7/meta/1.json", "c [1]/7/blobs/1.blob", "c [1]/8/meta/1.json", "c [1]/notes.txt")
    inside = (b"7/meta/*", b"7/blobs/*")
    assert found(Shape.FOLDER, "c [1]", *there, inside=inside) == [
        "c [1]/7/meta/1.json",
        "c [1]/7/blobs/1.blob",
    ]
    assert found(Shape.FOLDER, "none", inside=inside) == []
