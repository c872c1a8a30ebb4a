"""The sample scenes hold what their docstrings promise, and come out the same on every build."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageStat

import scenes

HERE = Path(__file__).parent


def blender(script: str, *arguments: str | int) -> str:
    command = [sys.executable, "-P", str(HERE / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Gives the file of a scene's first or second build, and its description; one Blender describes all."""
    folder = tmp_path_factory.mktemp("scenes")
    paths = {
        (name, turn): scenes.build_file(name, folder / str(turn) / f"{name}.blend")
        for turn in (1, 2)
        for name in scenes.names()
    }
    lines = blender("describe.py", *map(str, paths.values())).splitlines()
    said = {each["path"]: each for each in (json.loads(line) for line in lines if line.startswith("{"))}

    def build(name: str, turn: int = 1) -> tuple[Path, dict[str, Any]]:
        path = paths[name, turn]
        return path, said[str(path)]

    return build


@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_is_small_needs_no_files_and_runs_no_scripts(built: Any, name: str) -> None:
    path, said = built(name)
    found = said["summary"]
    assert path.stat().st_size < 2_000_000
    assert (found["files"], found["images"], found["texts"], found["drivers"]) == ([], [], [], [])
    assert found["blocked_scripts"] is False
    assert (found["engine"], found["adaptive"]) == ("CYCLES", False)
    assert found["camera"]


@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_built_twice_is_the_same_scene(built: Any, name: str) -> None:
    first, second = built(name, 1)[1], built(name, 2)[1]
    assert first["bytes"] > 50_000
    assert first["dump"] == second["dump"]


def test_no_two_scenes_are_described_alike(built: Any) -> None:
    assert len({built(name)[1]["dump"] for name in scenes.names()}) == len(scenes.names())


def test_passes_asks_for_every_kind_of_pass(built: Any) -> None:
    found = built("passes")[1]["summary"]
    wanted = {
        "cryptomatte_object", "cryptomatte_material", "cryptomatte_asset", "z", "mist", "position", "normal",
        "uv", "vector", "object_index", "material_index", "emit", "environment", "diffuse_direct",
        "glossy_indirect", "transmission_color", "subsurface_direct",
    }  # fmt: skip
    assert {f"use_pass_{name}" for name in wanted} <= set(found["layers"]["Beauty"])
    assert found["aovs"] == {"facing": "VALUE", "pattern": "COLOR"}
    assert found["lightgroups"] == found["lit_by"] == ["fill", "key", "lamp"]
    assert found["assets"] == ["Step low"]
    assert found["format"][:2] == ["OPEN_EXR_MULTILAYER", "32"]
    assert found["denoise"] is False
    for indices in (found["object_indices"], found["material_indices"]):
        assert len(set(indices)) == len(indices) > 8
        assert 0 not in indices


def test_lens_has_depth_of_field_and_blurs_what_turns(built: Any) -> None:
    found = built("lens")[1]["summary"]
    assert (found["depth_of_field"], found["motion_blur"], found["frames"]) == (True, True, [1, 8])
    assert found["moving"] == ["Axis 1", "Axis 2", "Axis 3", "Ring 1", "Ring 2", "Ring 3"]
    assert found["format"] == ["PNG", "8", "RGB"]


def test_grade_denoises_and_then_composites(built: Any) -> None:
    found = built("grade")[1]["summary"]
    assert found["denoise"] is True
    assert found["compositor"] == [
        "CompositorNodeRLayers",
        "CompositorNodeGlare",
        "CompositorNodeLensdist",
        "CompositorNodeColorBalance",
        "NodeGroupOutput",
    ]
    assert found["view"] == ["AgX", "AgX - Punchy"]
    assert found["format"] == ["PNG", "16", "RGB"]


def test_forest_has_many_subdivided_objects_and_only_its_camera_moves(built: Any) -> None:
    found = built("forest")[1]["summary"]
    assert found["subdivided"] == 73
    assert found["moving"] == ["Camera"]
    assert found["frames"] == [1, 24]


def test_cameras_are_bound_to_markers(built: Any) -> None:
    found = built("cameras")[1]["summary"]
    assert found["markers"] == {"1": "Wide", "3": "Gate", "5": "Above"}
    assert found["frames"] == [1, 6]
    assert found["format"] == ["JPEG", "8", "RGB"]


def test_turntable_turns_for_24_frames(built: Any) -> None:
    found = built("turntable")[1]["summary"]
    assert (found["moving"], found["frames"]) == (["Air", "Planet"], [1, 24])
    assert found["format"] == ["PNG", "8", "RGB"]


def test_still_is_one_large_denoised_frame(built: Any) -> None:
    found = built("still")[1]["summary"]
    assert (found["size"], found["frames"], found["denoise"]) == ([960, 540], [1, 1], True)
    assert found["format"] == ["PNG", "16", "RGB"]


def test_layers_cuts_the_flacon_out_of_what_lies_behind(built: Any) -> None:
    found = built("layers")[1]["summary"]
    assert list(found["layers"]) == ["Front", "Back"]
    assert (found["holdouts"], found["catchers"]) == (["Back/Flacon"], ["Floor"])
    assert found["transparent"] is True
    assert found["compositor"].count("CompositorNodeOutputFile") == 1


def test_layers_renders_its_picture_and_the_matte_of_its_front(built: Any, tmp_path: Path) -> None:
    blender("picture.py", built("layers")[0], tmp_path, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frame_0001.png", "matte_Front0001.png"]
    with (
        Image.open(tmp_path / "frame_0001.png") as frame,
        Image.open(tmp_path / "matte_Front0001.png") as matte,
    ):
        assert frame.size == matte.size == (40, 40)
        assert matte.getpixel((20, 24)) == 255, "the flacon stands in the middle"
        assert matte.getpixel((2, 2)) == 0
        red, _, blue, alpha = frame.convert("RGBA").getpixel((20, 28)) or (0, 0, 0, 0)
        assert red > blue + 60, "the flacon is orange"
        assert alpha == 255


def test_each_camera_sees_a_picture_of_its_own(built: Any, tmp_path: Path) -> None:
    frames = (1, 3, 5)
    blender("picture.py", built("cameras")[0], tmp_path, *frames)
    pictures = []
    for frame in frames:
        with Image.open(tmp_path / f"frame_{frame:04}.jpg") as picture:
            pictures.append(picture.convert("L"))
        light = ImageStat.Stat(pictures[-1])
        assert 60 < light.mean[0] < 220, "neither dark nor blown out"
        assert light.stddev[0] > 12, "something is to be seen"
    for one, other in combinations(pictures, 2):
        assert ImageStat.Stat(ImageChops.difference(one, other)).mean[0] > 10
