"""Every way a child can fail costs one attempt, is told in words, and leaves no process behind."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from tests.integration.workers.conftest import TILED, Bench
from tests.processes import family
from workers.telemetry import Host


@pytest.mark.parametrize("sandbox", [False, True])
@pytest.mark.parametrize(
    ("behaviour", "cause", "words"),
    [
        ("crash", "crash", "Blender crashed (SIGABRT"),
        ("kill", "crash", "Blender was killed (SIGKILL)"),
        ("exit", "crash", "exit code 7"),
        ("out-of-memory", "out-of-memory", "ran out of memory"),
        ("garbage", "internal", "not a message"),
        ("long-line", "internal", "not a message"),
        ("deep", "internal", "not a message"),
    ],
)
async def test_a_child_that_dies_or_babbles_costs_one_attempt(
    make_bench: Callable[..., Awaitable[Bench]], behaviour: str, cause: str, words: str, sandbox: bool
) -> None:
    bench = await make_bench(sandbox=sandbox)
    scene = bench.scene(f"rendertile = {behaviour}-once")
    failure = await bench.failure("job/1/tile-0", scene, plan=TILED)
    assert failure["cause"] == cause
    assert words in failure["what"]
    assert family() == set()
    again = await bench.result("job/1/tile-0", scene, plan=TILED)
    assert [file["role"] for file in again["files"]] == ["piece", "preview"]


async def test_the_log_of_a_crash_is_stored_and_its_end_told(bench: Bench) -> None:
    failure = await bench.failure("job/1/whole", bench.scene("renderframe = crash"))
    assert failure["log_tail"].startswith("Error: something in this scene is too much")
    assert "File " not in failure["log_tail"]
    [log] = failure["files"]
    assert log["role"] == "log"
    assert b"something in this scene is too much" in b"".join(bench.storage.stream(log["key"]))


async def test_a_child_without_a_beat_is_hung_and_killed_with_what_it_started(
    make_bench: Callable[..., Awaitable[Bench]],
) -> None:
    bench = await make_bench(silence_seconds=1.5)
    failure = await bench.failure("job/1/whole", bench.scene("renderframe = hang"))
    assert failure["cause"] == "hang"
    assert "no sign of life" in failure["what"]
    assert family() == set()


async def test_a_child_that_beats_but_does_nothing_is_hung(
    make_bench: Callable[..., Awaitable[Bench]],
) -> None:
    bench = await make_bench(idle_seconds=1.0)
    failure = await bench.failure("job/1/whole", bench.scene("renderframe = stuck"))
    assert failure["cause"] == "hang"
    assert "has done nothing" in failure["what"]
    assert family() == set()


async def test_a_child_that_cannot_be_started_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.runtimes.Runtime.command", lambda *_: ("/nowhere/python",))
    failure = await bench.failure("job/1/whole", bench.scene())
    assert failure["cause"] == "internal"
    assert "could not be started" in failure["what"]


async def test_a_flood_of_counts_is_only_a_slow_render(bench: Bench) -> None:
    result = await bench.result("job/1/whole", bench.scene("renderframe = flood"))
    assert result["files"]
    assert len([report for report in bench.seen if report["progress"]]) < 30


async def test_a_second_answer_ends_the_process_but_not_the_worker(bench: Bench) -> None:
    scene = bench.scene("renderframe = two-answers-once")
    await bench.run("job/1/whole", scene)
    assert await bench.result("job/2/whole", scene)


async def test_a_child_that_dies_between_orders_is_replaced_in_silence(bench: Bench) -> None:
    scene = bench.scene()
    await bench.result("job/1/whole", scene)
    assert bench.worker._session is not None
    child = bench.worker._session._render
    assert child is not None
    child.strike()
    while child.alive:
        await asyncio.sleep(0.01)
    assert await bench.result("job/2/whole", scene)


@pytest.mark.parametrize(
    "behaviour",
    [
        "link",
        "folder-link",
        "fifo",
        "not-written",
        "nothing",
        "climb",
        "absolute",
        "ours",
        "empty",
        "truncated",
    ],
)
async def test_outputs_that_are_not_plain_whole_files_are_refused(bench: Bench, behaviour: str) -> None:
    failure = await bench.failure("job/1/whole", bench.scene(f"renderframe = {behaviour}"))
    assert failure["cause"] == "bad-result"
    assert [file["role"] for file in failure["files"]] in ([], ["log"])
    assert not [key for key in bench.storage.keys("jobs/") if not key.endswith("_farm/log.txt")]


@pytest.mark.parametrize(("behaviour", "words"), [("wrong-size", "37×22"), ("truncated", "cut short")])
async def test_a_piece_of_the_wrong_size_or_cut_short_is_refused(
    bench: Bench, behaviour: str, words: str
) -> None:
    failure = await bench.failure("job/1/tile-0", bench.scene(f"rendertile = {behaviour}"), plan=TILED)
    assert failure["cause"] == "bad-result"
    assert words in failure["what"]


@pytest.mark.parametrize(
    ("claimed", "taken"), [("bad-scene", "bad-scene"), ("lost", "internal"), ("nonsense", "internal")]
)
async def test_a_child_says_why_but_cannot_claim_a_free_retry(bench: Bench, claimed: str, taken: str) -> None:
    failure = await bench.failure("job/1/whole", bench.scene(f"open = fail {claimed}"))
    assert failure["cause"] == taken
    assert failure["what"] == "The scene has no [31m camera."
    assert failure["cure"] == "Add one."


async def test_out_of_memory_names_what_there_is(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.telemetry.host", lambda: Host(4, 64_000_000_000, 32_000_000_000, 0.0))
    monkeypatch.setattr("workers.worker.gpu_memory", lambda device: 24_200_000_000)
    failure = await bench.failure("job/1/whole", bench.scene("renderframe = memory-error"))
    assert failure["cause"] == "out-of-memory"
    assert re.fullmatch(
        r"There was not enough memory for this\. It used 0\.\d GB at most; this worker has 64\.0 GB\.",
        failure["what"],
    )
    failure = await bench.failure("job/1/whole", bench.scene("renderframe = out-of-gpu-memory"))
    assert failure["cause"] == "out-of-memory"
    assert failure["what"].endswith("System is out of GPU memory. This worker's GPU has 24.2 GB.")


async def test_what_was_learned_of_a_job_is_the_patience_with_its_children(bench: Bench) -> None:
    scene = bench.scene()
    for learned, idle in ((120.0, 120.0), (None, 900.0)):
        order = bench.order("job/1/tile-0", scene, plan=TILED)
        await bench.worker.start(order | {"patience": learned})
        assert (await bench.end())["result"] is not None
        session = bench.worker._session
        assert session is not None
        assert {child.patience.idle for child in session._children()} == {idle}


async def test_a_missing_file_of_the_scene_is_told_with_a_cure(bench: Bench) -> None:
    scene = bench.scene("", wood=b"oak")
    bench.storage.delete_prefix("blobs/")
    failure = await bench.failure("job/1/whole", scene)
    assert failure["cause"] == "internal"
    assert failure["cure"] == "Submit the scene again."


async def test_paths_that_no_folder_can_have_are_a_bad_scene(bench: Bench) -> None:
    scene = bench.scene("", **{"w" * 300: b"oak"})
    assert (await bench.failure("job/1/whole", scene))["cause"] == "bad-scene"


async def test_a_full_storage_is_told(bench: Bench) -> None:
    scene = bench.scene()
    bench.storage.capacity = 60
    assert (await bench.failure("job/1/whole", scene))["cause"] == "disk-full"
