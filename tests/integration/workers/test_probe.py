"""Probes: is an idle worker well?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest

from tests.integration.workers.conftest import Bench
from tests.processes import family
from workers.inside_blender.expected import SIDE, WORLD, fault

type Make = Callable[..., Awaitable[Bench]]


def behave(tmp_path: Path, behaviour: str) -> None:
    """What the fake child does when it is probed."""
    (tmp_path / "driver-cache").mkdir(exist_ok=True)
    (tmp_path / "driver-cache" / "probe").write_text(behaviour)


async def test_a_worker_that_renders_the_small_scene_is_well_and_leaves_nothing(
    bench: Bench, tmp_path: Path
) -> None:
    assert await bench.worker.probe() == ""
    assert family() == set()
    assert not (tmp_path / "workers" / "w1" / "probing").exists()


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("crash", "Blender crashed (SIGABRT"),
        ("out-of-memory", "Blender ran out of memory."),
        ("wrong-device", "Blender was to render with OPTIX but used “CPU”."),
        ("fail bad-result", "The scene has no"),
    ],
)
async def test_what_is_wrong_is_told_in_words(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, words: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    behave(tmp_path, behaviour)
    assert (await bench.worker.probe()).startswith(words)
    assert family() == set()
    behave(tmp_path, "")
    assert await bench.worker.probe() == ""


async def test_a_probe_that_hangs_ends(make_bench: Make, tmp_path: Path) -> None:
    bench = await make_bench(silence_seconds=1.0)
    behave(tmp_path, "hang")
    assert "no sign of life" in await bench.worker.probe()
    assert family() == set()


async def test_a_probe_that_lives_but_never_ends_ends(make_bench: Make, tmp_path: Path) -> None:
    bench = await make_bench(probe_seconds=3.0)
    behave(tmp_path, "stuck")
    assert await bench.worker.probe() == "It has not rendered a small scene in 3 s."
    assert family() == set()


async def test_a_gpu_worker_without_its_gpu_is_not_well(make_bench: Make) -> None:
    bench = await make_bench(device="OPTIX")
    assert "Cycles finds only CPU here" in await bench.worker.probe()


async def test_a_worker_at_work_is_not_probed(bench: Bench) -> None:
    await bench.worker.start(bench.order("job/1/whole", bench.scene("renderframe = slow 100")))
    with pytest.raises(ValueError, match="attempt1 is running"):
        await bench.worker.probe()
    await bench.worker.cancel("attempt1")


async def test_an_order_that_comes_in_between_begins_after_the_probe(bench: Bench, tmp_path: Path) -> None:
    behave(tmp_path, "slow 10")
    probing = asyncio.create_task(bench.worker.probe())
    while not family():
        await asyncio.sleep(0.01)
    assert await bench.result("job/1/whole", bench.scene())
    assert await probing == ""


async def test_closing_ends_a_probe(make_bench: Make, tmp_path: Path) -> None:
    bench = await make_bench()
    behave(tmp_path, "slow 1000")
    probing = asyncio.create_task(bench.worker.probe())
    while not family():
        await asyncio.sleep(0.01)
    await bench.worker.close()
    assert family() == set()
    with pytest.raises(asyncio.CancelledError):
        await probing


async def test_real_blender_is_well(make_bench: Make) -> None:
    bench = await make_bench(modules=None, sandbox=True, threads=1)
    assert await bench.worker.probe() == ""
    assert family() == set()


def test_pictures_that_are_wrong_are_told() -> None:
    good = np.empty((SIDE, SIDE, 4), np.float32)
    good[...] = (*WORLD, 1)
    good[10:22, 10:22] = (0.4, 0.6, 0.8, 1)
    assert fault(good, good.copy(), exact=True) == ""

    def wrong(value: object, *place: object) -> str:
        bad = good.copy()
        bad[place or ...] = value
        return fault(good, bad, exact=True)

    assert wrong(0.0) == "is black"
    assert wrong(np.nan, 3, 3) == "has values that are no numbers"
    assert wrong(np.inf, 3, 3) == "has values that are no numbers"
    assert wrong((*WORLD, 1)) == "lacks what is in it"
    assert wrong((0.25, 0.5, 0.76, 1), 0, 0) == "has other colours than it must have"
    assert wrong((0.4, 0.6, 0.8001, 1), 15, 12) == "came out differently the second time"
    almost = good.copy()
    almost[15, 12, 0] += 1e-4
    assert fault(good, almost, exact=False) == ""
    assert fault(good[1:], good, exact=True) == "came out 32×31 pixels instead of 32×32"
