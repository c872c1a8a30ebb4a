"""The installed add-on in a real Blender: nothing left behind, words for every failure, paths put right."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from farm.domain.control import Control
from farm.domain.errors import StorageFull
from farm.domain.job import LOCAL_OWNER
from tests.integration.addon.conftest import InBlender
from tests.integration.web.serving import serving
from tests.unit.web.fake_farm import FakeFarm


@pytest.fixture
def farm() -> Iterator[tuple[FakeFarm, str]]:
    fake = FakeFarm()
    with serving(fake) as url:
        yield fake, url


def test_turned_off_it_leaves_nothing_behind(in_blender: InBlender, farm: tuple[FakeFarm, str]) -> None:
    first, *others = in_blender("on_and_off", farm=farm[1])  # type: ignore[misc]
    assert (first["classes"], first["properties"], first["scratch"]) == ([], [], [])
    assert others == [first] * 3


def test_no_farm_at_the_address_is_told_with_a_cure(in_blender: InBlender, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    told: Any = in_blender("submit", farm=url, results=str(tmp_path / "out"), settings={"frames": "CURRENT"})
    assert told["before"][-1] == "[Submit 1 frame]"
    assert told["reported"] == ["FINISHED"]
    assert (told["phase"], told["what"]) == ("Failed", f"No farm answers at {url}.")
    assert "farm up" in told["cure"]
    assert told["again_in"] is None  # the timer ends with the thread
    assert f"No farm answers at {url}." in " ".join(told["drawn"])
    assert told["left"] == []
    assert not (tmp_path / "out").exists()


def test_what_the_farm_refuses_is_told_in_its_words(
    in_blender: InBlender, farm: tuple[FakeFarm, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageFull("The farm's disk is full.", "Free some space on it.")

    monkeypatch.setattr(farm[0], "put_blob", full)
    told: Any = in_blender("submit", farm=farm[1], results=str(tmp_path), settings={})
    assert (told["phase"], told["what"]) == ("Failed", "The farm's disk is full.")
    assert told["cure"] == "Free some space on it."


def test_priority_and_paused_go_with_the_job_and_the_panel_says_why_nothing_happens(
    in_blender: InBlender, farm: tuple[FakeFarm, str], tmp_path: Path
) -> None:
    told: Any = in_blender("submit_paused", farm=farm[1], results=str(tmp_path))
    assert farm[0].job(LOCAL_OWNER, told["job"]).control == Control(priority=80, paused=True)
    assert "Paused; it is resumed on its page." in " ".join(told["drawn"])


@pytest.mark.parametrize(
    ("farm", "settings", "said"),
    [
        ("", {}, "No farm is named yet."),
        ("ftp://x", {}, "“ftp://x” is not the address of a farm."),
        ("http://farm.example", {}, "Allow Online Access"),
        ("127.0.0.1:1", {"frames": "OWN", "own_frames": "5-1"}, "Write 1-5."),
        ("127.0.0.1:1", {"results": "//renders/"}, "The results have no place"),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_sent(
    in_blender: InBlender, farm: str, settings: dict[str, str], said: str
) -> None:
    told: Any = in_blender("submit", farm=farm, results="/tmp", settings=settings)  # noqa: S108
    assert said in told["reported"]
    if "own_frames" in settings:
        assert told["before"][-2:] == ["enabled=False", "[Submit]"]


def test_the_test_button_says_what_answers(in_blender: InBlender, farm: tuple[FakeFarm, str]) -> None:
    well, what, _ = in_blender("test_button", farm=farm[1])  # type: ignore[misc]
    assert well
    assert what.startswith("Tessera ")
    assert "answers, with" in what
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    well, what, cure = in_blender("test_button", farm=f"127.0.0.1:{port}")  # type: ignore[misc]
    assert (well, what) == (False, f"No farm answers at http://127.0.0.1:{port}.")
    assert cure


def test_every_file_is_found_where_the_scene_is_opened(in_blender: InBlender, tmp_path: Path) -> None:
    near = tmp_path / "é home"
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="far ü ") as far:
        told: Any = in_blender("packed", near=str(near), far=far)
    outside = "elsewhere" + far
    assert told["main"] == "project/shot.blend"
    assert sorted(told["files"]) == sorted(
        [
            "project/shot.blend",
            "project/tex/relative ü.png",
            "project/tex/u.1001.png",
            "project/tex/u.1002.png",
            "shared/stone.png",
            f"{outside}/bake/1.json",
            f"{outside}/lib/lib.blend",
            f"{outside}/lib/tex/wood.png",
            *(f"{outside}/seq/s_00{number}.png" for number in (1, 2, 3)),
        ]
    )
    assert told["bake"] == f"//../{outside}/bake"
    assert told["images"] == {
        "relative ü.png": ["//tex/relative ü.png", True],
        "s_001.png": [f"//../{outside}/seq/s_001.png", True],
        "wood.png": ["//tex/wood.png", True],
        "stone.png": ["//" + "../" * (outside.count("/") + 2) + "shared/stone.png", True],
    }
    assert [what for what, _ in told["findings"]] == [
        "Image “painted” was painted on and not saved: the farm gets it without that.",
        f"“{near}/project/missing.mdd” is not there. It is used by Object “Cube”.",
    ]
