"""What a worker makes of each kind of order, with fake children."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable

import pytest

from farm.storage import MemoryStorage
from tests.integration.workers.conftest import TILED, Bench
from tests.processes import family
from workers import fake_pictures

CLASS = {"blender": "5.2.3 fake", "device": "CPU", "kernel": "avx2"}


def stored(storage: MemoryStorage, result: dict) -> dict[str, tuple[str, str, int]]:
    """Role, media type and size by name; every file is checked against its hash."""
    found = {}
    for file in result["files"]:
        data = b"".join(storage.stream(file["key"]))
        assert file["blob"] == {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        found[file["name"]] = (file["role"], file["media_type"], len(data))
    return found


async def test_info_says_what_the_worker_is(bench: Bench) -> None:
    info = await bench.worker.info()
    assert info["worker_id"] == "w1"
    assert info["device"] == "CPU"
    assert info["device_name"] == "Fake CPU"
    assert info["render_class"] == CLASS
    assert info["sandboxed"] is False
    assert info["memory"] > 0
    assert info["threads"] > 0


async def test_an_inspection_gives_the_report(bench: Bench) -> None:
    result = await bench.result("job/inspect", bench.scene(), plan=None, scene="Other")
    assert result["report"]["scene"] == "Other"
    assert result["report"]["blender"] == "5.2.3 fake"


@pytest.mark.parametrize("behaviour", ["not-a-number", "no-end", "below-zero"])
async def test_numbers_that_nobody_can_reckon_with_are_no_report(bench: Bench, behaviour: str) -> None:
    failure = await bench.failure("job/inspect", bench.scene(f"inspect = {behaviour}"), plan=None)
    assert failure["cause"] == "bad-result"


async def test_names_that_are_no_text_are_made_text(bench: Bench) -> None:
    result = await bench.result("job/inspect", bench.scene("inspect = no-text"), plan=None)
    assert result["report"]["cameras"] == ["Camera", "K?fer"]


async def test_a_frame_is_stored_with_hash_preview_and_render_class(bench: Bench) -> None:
    result = await bench.result("job/3/whole", bench.scene())
    assert stored(bench.storage, result) == {
        "shot_0003.png": ("output", "image/png", len(fake_pictures.png(64, 36))),
        "_farm/preview.jpg": ("preview", "image/jpeg", len(fake_pictures.JPEG)),
    }
    assert result["render_class"] == CLASS
    assert result["device_name"] == "Fake"
    assert result["seconds"]["render"] == 0.02
    assert all(file["key"] == f"jobs/job/3/whole/attempt1/{file['name']}" for file in result["files"])


async def test_what_blender_printed_is_stored_as_the_log(bench: Bench) -> None:
    result = await bench.result("job/1/whole", bench.scene("renderframe = chatter"))
    role, media_type, size = stored(bench.storage, result)["_farm/log.txt"]
    assert (role, media_type) == ("log", "text/plain; charset=utf-8")
    assert 4 * 1024 * 1024 < size < 5 * 1024 * 1024
    [log] = [file for file in result["files"] if file["role"] == "log"]
    text = b"".join(bench.storage.stream(log["key"]))
    assert text.startswith(b"00000000 ---")
    assert b"bytes left out" in text
    assert text.rstrip().endswith(b"00099999 " + b"-" * 90)


async def test_the_passes_are_kept_on_request(bench: Bench) -> None:
    result = await bench.result("job/3/whole", bench.scene(), keep_exr=True)
    assert stored(bench.storage, result)["exr/0003.exr"] == (
        "exr",
        "image/x-exr",
        len(fake_pictures.exr(64, 36)),
    )


async def test_files_that_the_child_did_not_name_stay_behind(bench: Bench) -> None:
    await bench.result("job/1/whole", bench.scene())
    assert not [key for key in bench.storage.keys("jobs/") if "unasked" in key]


async def test_a_tile_has_its_pixels_and_its_overlap(bench: Bench) -> None:
    result = await bench.result("job/1/tile-3", bench.scene(), plan=TILED)
    assert stored(bench.storage, result) == {
        "_farm/piece.exr": ("piece", "image/x-exr", len(fake_pictures.exr(36, 22))),
        "_farm/preview.jpg": ("preview", "image/jpeg", len(fake_pictures.JPEG)),
    }
    assert result["render_class"] == CLASS


async def test_a_finish_merges_the_pieces_and_saves_what_the_artist_asked_for(bench: Bench) -> None:
    scene = bench.scene()
    pieces = await bench.pieces(scene)
    result = await bench.result("job/1/finish", scene, plan=TILED, pieces=pieces, keep_exr=True)
    assert stored(bench.storage, result) == {
        "shot_0001.png": ("output", "image/png", len(fake_pictures.png(64, 36))),
        "_farm/preview.jpg": ("preview", "image/jpeg", len(fake_pictures.JPEG)),
        "exr/0001.exr": ("exr", "image/x-exr", len(fake_pictures.exr(64, 36))),
    }
    assert result["render_class"] == CLASS


async def test_a_finish_needs_every_piece_once(bench: Bench) -> None:
    scene = bench.scene()
    pieces = await bench.pieces(scene)
    failure = await bench.failure("job/1/finish", scene, plan=TILED, pieces=pieces[:3])
    assert failure["cause"] == "bad-result"
    assert "1 to 4" in failure["what"]
    twice = (*pieces, pieces[0])
    assert (await bench.failure("job/1/finish", scene, plan=TILED, pieces=twice))["cause"] == "bad-result"


async def test_pieces_of_two_classes_are_refused_before_anything_is_fetched(bench: Bench) -> None:
    scene = bench.scene()
    first, *others = await bench.pieces(scene)
    foreign = first.model_copy(
        update={"render_class": first.render_class.model_copy(update={"kernel": "sse42"}), "key": "nowhere"}
    )
    failure = await bench.failure("job/1/finish", scene, plan=TILED, pieces=(foreign, *others))
    assert failure["cause"] == "wrong-class"
    assert "sse42" in failure["what"]


async def test_an_order_for_another_class_is_refused(bench: Bench) -> None:
    order = bench.order("job/1/whole", bench.scene())
    order["render_class"] = CLASS | {"kernel": "sse42"}
    await bench.worker.start(order)
    failure = (await bench.end())["failure"]
    assert failure["cause"] == "wrong-class"
    assert "sse42" in failure["what"]


async def test_an_order_that_is_not_for_this_worker_leaves_the_warm_scene_alone(bench: Bench) -> None:
    await bench.worker.info()
    scene = bench.scene()
    await bench.result("job/1/whole", scene)
    before = family()
    assert (await bench.failure("job/2/whole", scene, device="optix"))["cause"] == "no-device"
    assert family() == before != set()


async def test_the_time_of_a_merge_counts_once(bench: Bench) -> None:
    scene = bench.scene()
    pieces = await bench.pieces(scene)
    result = await bench.result("job/1/finish", scene, plan=TILED, pieces=pieces)
    assert result["seconds"]["save"] < 100  # the fake's merge claims a thousand


async def test_a_gpu_job_never_falls_back_to_the_cpu(bench: Bench) -> None:
    failure = await bench.failure("job/1/whole", bench.scene(), device="optix")
    assert failure["cause"] == "no-device"
    assert "OPTIX" in failure["what"]
    assert failure["cure"]


async def test_a_gpu_that_is_there_renders(
    make_bench: Callable[..., Awaitable[Bench]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    bench = await make_bench()
    assert (await bench.worker.info())["device"] == "OPTIX"
    result = await bench.result("job/1/whole", bench.scene())
    assert result["render_class"] == {"blender": "5.2.3 fake", "device": "OPTIX", "kernel": "Fake GPU"}
    failure = await bench.failure("job/2/whole", bench.scene("renderframe = wrong-device"))
    assert failure["cause"] == "no-device"


async def test_scene_processes_stay_warm_until_another_scene_comes(bench: Bench) -> None:
    first, second = bench.scene("# one"), bench.scene("# two")
    await bench.result("job/1/whole", first)
    session = bench.worker._session
    assert session is not None
    process = session._render
    await bench.result("job/2/whole", first)
    assert bench.worker._session is session
    assert session._render is process
    await bench.result("job/1/whole", second)
    assert bench.worker._session is not session
    assert process is not None
    assert not process.alive


async def test_a_render_process_is_replaced_when_it_has_done_enough(
    make_bench: Callable[..., Awaitable[Bench]],
) -> None:
    bench = await make_bench(tasks_per_process=2)
    scene = bench.scene()
    pids = []
    for frame in (1, 2, 3):
        await bench.result(f"job/{frame}/whole", scene)
        assert bench.worker._session is not None
        assert bench.worker._session._render is not None
        pids.append(bench.worker._session._render.pid)
    assert pids[0] == pids[1] != pids[2]


@pytest.mark.parametrize("sandbox", [False, True])
async def test_a_child_sees_no_secret_and_no_setting_of_the_farm(
    make_bench: Callable[..., Awaitable[Bench]], monkeypatch: pytest.MonkeyPatch, sandbox: bool
) -> None:
    monkeypatch.setenv("FARM_STORAGE__SECRET_KEY", "hidden")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "hidden")
    bench = await make_bench(sandbox=sandbox)
    result = await bench.result("job/1/whole", bench.scene("renderframe = look-around"))
    [file] = [file for file in result["files"] if file["name"] == "seen.json"]
    seen = json.loads(b"".join(bench.storage.stream(file["key"])))
    assert "hidden" not in seen["env"].values()
    assert [name for name in seen["env"] if name.startswith(("FARM_", "AWS_", "RAY_"))] == (
        [] if sandbox and (await bench.worker.info())["sandboxed"] else ["FARM_PARENT_PID"]
    )
    assert "/sessions/" in seen["env"]["HOME"]


async def test_in_the_sandbox_there_is_no_network_and_the_scene_cannot_be_changed(
    make_bench: Callable[..., Awaitable[Bench]],
) -> None:
    bench = await make_bench(sandbox=True)
    if not (await bench.worker.info())["sandboxed"]:
        pytest.skip("bubblewrap does not work here")
    result = await bench.result("job/1/whole", bench.scene("renderframe = look-around"))
    [file] = [file for file in result["files"] if file["name"] == "seen.json"]
    seen = json.loads(b"".join(bench.storage.stream(file["key"])))
    assert seen["uid"] == 65534
    assert seen["network"] == ["lo"]
    assert seen["writes"] is False
