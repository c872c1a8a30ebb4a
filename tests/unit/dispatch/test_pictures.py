"""Which of a frame's files is the render, by the name that Blender gives it."""

from __future__ import annotations

import pytest

from farm.dispatch.furnish import numbered, picture_of
from farm.domain.work import Role
from farm.store.outputs import OutputRow
from tests.unit.dispatch.play import AVX2, stored


@pytest.mark.parametrize(
    ("name", "frame", "written"),
    [
        ("shot_####", 12, "shot_0012"),
        ("shot_#", 12, "shot_12"),
        ("####_shot", 12, "0012_shot"),
        ("s##_f###", 7, "s##_f007"),
        ("shot_", 12, "shot_0012"),
        ("", 12, "0012"),
        ("shot_####", -3, "shot_-0003"),
        ("shot_####", 123456, "shot_123456"),
    ],
)
def test_the_number_stands_for_the_last_hashes(name: str, frame: int, written: str) -> None:
    assert numbered(name, frame) == written


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["a.png", "shot_0012.png"], "shot_0012.png"),
        (["depth/shot_0012.exr", "shot_0012.png"], "shot_0012.png"),
        (["shot_0012_L.png", "shot_0012_R.png"], "shot_0012_L.png"),
        (["shot_0012_mask.png", "shot_0012.png"], "shot_0012.png"),
        (["b.png", "a.png"], "b.png"),
    ],
)
def test_the_render_is_told_from_the_files_of_nodes(files: list[str], chosen: str) -> None:
    rows = [OutputRow(n, "j1", 12, None, "a1", stored(Role.OUTPUT, f), AVX2) for n, f in enumerate(files)]
    picture = picture_of(rows, "shot_####", 12)
    assert picture is not None
    assert picture.name == chosen


def test_a_frame_without_files_has_no_picture() -> None:
    assert picture_of([], "shot_####", 12) is None
