"""What a worker makes of an order to encode, with fake children."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from farm.domain.plan import Plan, Video
from farm.domain.scene import SceneManifest
from farm.domain.work import Role
from tests.integration.workers.conftest import Bench
from workers import fake_pictures

BOTH = Plan(
    frames="1-3", width=64, height=36, videos=(Video.SCENE, Video.PREVIEW), reason="movies", exact=True
)
PHOTO = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x24\x00\x40\x01\x01\x11\x00" + bytes(8) + b"\xff\xd9"


def pictures(bench: Bench, frames: tuple[int, ...] = (1, 2, 3)) -> list[dict[str, Any]]:
    """Stored frames: the picture that the artist asked for and its preview."""
    found = []
    for frame in frames:
        for role, name, data in (
            (Role.OUTPUT, f"shot_{frame:04d}.png", fake_pictures.png(64, 36)),
            (Role.PREVIEW, "_farm/preview.jpg", PHOTO),
        ):
            key = f"jobs/job/{frame}/{name}"
            blob = bench.storage.put_stream(key, [data])
            file = {"role": role.value, "name": name, "key": key, "blob": blob.model_dump()}
            found.append({"frame": frame, "file": file})
    return found


async def encode(bench: Bench, scene: SceneManifest, given: list[dict[str, Any]], plan: Plan = BOTH) -> Any:
    order = bench.order("job/encode", scene, plan=plan) | {"pictures": given}
    await bench.worker.start(order)
    return await bench.end()


async def test_movies_are_stored_under_their_names(bench: Bench) -> None:
    report = await encode(bench, bench.scene(), pictures(bench))
    result = report["result"]
    assert result is not None, report["failure"]
    assert [(file["role"], file["name"], file["media_type"]) for file in result["files"]] == [
        ("video", "shot_0001-0003.mp4", "video/mp4"),
        ("video", "preview.mp4", "video/mp4"),
    ]
    for file in result["files"]:
        assert b"".join(bench.storage.stream(file["key"])) == fake_pictures.mp4(3)
    assert result["notes"] == ["encoded", "encoded"]
    assert result["seconds"]["save"] == 0.04


async def test_a_preview_movie_alone_needs_no_other_pictures(bench: Bench) -> None:
    plan = BOTH.model_copy(update={"videos": (Video.PREVIEW,)})
    given = [one for one in pictures(bench) if one["file"]["role"] == "preview"]
    report = await encode(bench, bench.scene(), given, plan)
    assert [file["name"] for file in report["result"]["files"]] == ["preview.mp4"]


@pytest.mark.parametrize(
    ("behaviour", "cause", "what"),
    [
        ("truncated", "bad-result", "“shot_0001-0003.mp4” is not a whole movie"),
        ("nothing", "bad-result", "wrote no movie"),
        ("ours", "bad-result", "“_farm/log.mp4”: that name is taken"),
        ("same-name", "bad-result", "“preview.mp4”: that name is taken"),
        ("crash", "crash", ""),
        ("fail bad-scene", "bad-scene", ""),
    ],
)
async def test_a_movie_that_went_wrong_is_told(bench: Bench, behaviour: str, cause: str, what: str) -> None:
    report = await encode(bench, bench.scene(f"encodevideo = {behaviour}"), pictures(bench))
    assert report["failure"]["cause"] == cause
    assert what in report["failure"]["what"]


async def test_a_frame_without_a_picture_is_named_before_anything_is_fetched(bench: Bench) -> None:
    report = await encode(bench, bench.scene("open = crash"), pictures(bench, (1, 3)))
    assert report["failure"]["cause"] == "bad-result"
    assert "no picture of frame 2." in report["failure"]["what"]


async def test_a_picture_of_another_size_is_named(bench: Bench) -> None:
    given = pictures(bench)
    data = fake_pictures.png(32, 18)
    given[2]["file"]["blob"] = bench.storage.put_stream(given[2]["file"]["key"], [data]).model_dump()
    failure = (await encode(bench, bench.scene(), given))["failure"]
    assert failure["cause"] == "bad-result"
    assert "frame 2 is a PNG of 32×18 pixels, frame 1 is a PNG of 64×36 pixels" in failure["what"]


async def test_a_picture_that_is_not_what_was_stored_is_a_storage_failure(bench: Bench) -> None:
    given = pictures(bench)
    bench.storage.put_stream(given[2]["file"]["key"], [b"something else"])
    assert (await encode(bench, bench.scene(), given))["failure"]["cause"] == "storage"


async def test_a_picture_that_was_never_whole_is_told(bench: Bench) -> None:
    given = pictures(bench)
    data = fake_pictures.png(64, 36)[:-8]
    given[2]["file"]["blob"] = bench.storage.put_stream(given[2]["file"]["key"], [data]).model_dump()
    failure = (await encode(bench, bench.scene(), given))["failure"]
    assert (failure["cause"], failure["what"]) == ("bad-result", "“shot_0002.png” is not a whole picture.")


async def test_a_disk_too_small_for_the_pictures_says_how_much_they_need(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = pictures(bench)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=10, used=10, free=100))
    given[0]["file"]["blob"]["bytes"] = 2_500_000_000
    failure = (await encode(bench, bench.scene(), given))["failure"]
    assert failure["cause"] == "disk-full"
    assert failure["what"] == "The pictures of the movie take 2.5 GB; the worker's disk has 0.0 GB free."
