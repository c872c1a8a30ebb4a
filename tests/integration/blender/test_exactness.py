"""A frame in pieces is the frame whole: bit for bit, in every pass and in the file that is delivered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import OpenEXR
import pytest

from farm.domain.tiles import Box, Size
from tests.integration.blender.cut import assembled, direct, finish, pixels, tile, whole
from tests.integration.blender.driver import RenderProcess, look, read_exr, same_bits
from tests.integration.blender.simulated import plain
from workers.protocol import FinishFrame, Open, RenderFrame, RenderTile

Start = Callable[..., RenderProcess]
Build = Callable[..., Path]


def test_four_tiles_are_the_whole_frame_in_every_pass(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build(samples=4, layers=2))
    expected = whole(child, tmp_path / "whole.exr")
    assert {"ViewLayer.CryptoObject00.r", "ViewLayer.Position.X", "Layer 1.Mist.Z"} <= set(expected)
    assert same_bits(assembled(child, "2x2", tmp_path), expected) == []
    assert np.ptp(expected["ViewLayer.Combined.R"]) > 0.5


def test_a_frame_is_the_same_after_one_with_more_samples(start: Start, build: Build, tmp_path: Path) -> None:
    """Cycles keeps a scene between renders, and with it how many samples its noise was spread over."""
    path = build(samples=4)
    fresh = {samples: whole(start(path), tmp_path / "fresh.exr", samples=samples) for samples in (4, 8)}
    warm = start(path)
    for samples in (8, 4, 8, 4):
        assert same_bits(whole(warm, tmp_path / "warm.exr", samples=samples), fresh[samples]) == []
    assert "ViewLayer.Combined.R" in same_bits(fresh[4], fresh[8])


@pytest.mark.parametrize(("first", "second"), [(8, 4), (4, 8)])
def test_layers_with_samples_of_their_own_are_those_of_a_blender_that_keeps_nothing(
    start: Start, build: Build, tmp_path: Path, first: int, second: int
) -> None:
    own = (
        "scene.cycles.use_layer_samples = 'USE'; scene.render.use_motion_blur = False\n"
        f"scene.view_layers[0].samples, scene.view_layers[1].samples = {first}, {second}\n"
    )
    path = build(samples=2, layers=2, extra=own)
    theirs = read_exr(plain(path, tmp_path / "plain", (3, 3), 3))
    child = start(path)
    for _ in range(2):
        ours = whole(child, tmp_path / "warm.exr")
        for name in ("ViewLayer.Combined.R", "Layer 1.Combined.R"):
            assert ours[name].tobytes() == theirs[name].tobytes(), name


FORMATS = ("PNG", "OPEN_EXR", "OPEN_EXR_MULTILAYER")
SCENES: dict[str, dict[str, object]] = {
    "denoise+glare": {"denoise": True, "compositor": "glare"},
    "nested group, 2 layers": {"denoise": True, "compositor": "nested", "layers": 2, "samples": 16},
    "denoise": {"denoise": True},
    "glare": {"compositor": "glare"},
    "plain": {},
}


@pytest.fixture(scope="module", params=SCENES)
def finished(request: pytest.FixtureRequest, build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders ``direct`` and ``finish`` with a folder for each of `FORMATS`: one frame, made both ways.

    A file's formats are scenes of it that differ in nothing else, so one merged frame serves them all.
    """
    folder = tmp_path_factory.mktemp("finished")
    variants = {kind: f"save_as(scene, {kind!r})" for kind in FORMATS}
    path = build(variants=variants, **SCENES[request.param])
    for name in ("direct", "finish"):
        with RenderProcess(folder / f"{name}.log") as child:
            child.done(Open(str(path)))
            for kind in FORMATS:
                if name == "direct":
                    direct(child, folder / name / kind, scene=kind)
                else:
                    finish(child, folder / "merged.exr", folder / name / kind, scene=kind)
            if name == "direct":
                whole(child, folder / "merged.exr")
    return folder


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_finished_frame_is_the_direct_render(finished: Path, file_format: str) -> None:
    first, second = finished / "direct" / file_format, finished / "finish" / file_format
    names = sorted(path.name for path in first.iterdir())
    assert names == ["shot_0003.png" if file_format == "PNG" else "shot_0003.exr"]
    assert sorted(path.name for path in second.iterdir()) == names
    if file_format == "PNG":
        assert np.array_equal(pixels(first / names[0]), pixels(second / names[0]))
    else:
        assert same_bits(read_exr(first / names[0]), read_exr(second / names[0])) == []


def test_a_finished_file_carries_cycles_metadata_and_the_cryptomatte_manifest(
    start: Start, build: Build, tmp_path: Path
) -> None:
    path = build(file_format="OPEN_EXR_MULTILAYER")
    child = start(path)
    outputs = direct(child, tmp_path / "direct")
    whole(child, tmp_path / "merged.exr")
    finish(child, tmp_path / "merged.exr", tmp_path / "finish")
    volatile = {"Date", "RenderTime", "name", "channels", "chunkCount"}
    headers = []
    for folder in ("direct", "finish"):
        with OpenEXR.File(str(tmp_path / folder / outputs[0]), header_only=True) as file:
            texts = {k: v for k, v in file.parts[0].header.items() if isinstance(v, str)}
        headers.append({k: v for k, v in texts.items() if k not in volatile and not k.endswith("_time")})
    assert headers[1] == headers[0]
    assert any("Suzanne.001" in text for text in headers[0].values())
    assert headers[0]["cycles.ViewLayer.samples"] == "4"


def test_sample_counts_that_are_no_power_of_two_are_denoised_within_a_few_millionths(
    start: Start, build: Build, tmp_path: Path
) -> None:
    path = build(denoise=True, samples=7, file_format="OPEN_EXR")
    child = start(path)
    (name,) = direct(child, tmp_path / "direct")
    whole(child, tmp_path / "merged.exr")
    finish(child, tmp_path / "merged.exr", tmp_path / "finish")
    first, second = read_exr(tmp_path / "direct" / name), read_exr(tmp_path / "finish" / name)
    for channel in first:
        np.testing.assert_allclose(second[channel], first[channel], rtol=2e-4, atol=2e-5)


def test_a_warm_process_renders_the_same_after_tiles_other_frames_and_other_looks(
    start: Start, build: Build, tmp_path: Path
) -> None:
    path = build(denoise=True, compositor="glare", file_format="OPEN_EXR_MULTILAYER")
    (name,) = direct(start(path), tmp_path / "fresh")
    child = start(path)
    tile(child, Box(10, 20, 50, 30), tmp_path / "tile.exr")
    tile(child, Box(0, 0, 20, 10), tmp_path / "small.exr", 5, Size(40, 22), percentage=25, samples=1)
    child.failed(RenderFrame(look(3, camera="Nobody"), str(tmp_path / "x"), str(tmp_path / "x.jpg")))
    direct(child, tmp_path / "other", frame=7)
    whole(child, tmp_path / "merged.exr")
    finish(child, tmp_path / "merged.exr", tmp_path / "finish")
    assert direct(child, tmp_path / "warm") == [name]
    fresh = read_exr(tmp_path / "fresh" / name)
    assert same_bits(fresh, read_exr(tmp_path / "warm" / name)) == []
    assert same_bits(fresh, read_exr(tmp_path / "finish" / name)) == []


def test_a_piece_of_another_size_than_asked_is_refused(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build())
    failed = child.failed(
        RenderTile(look(), [0.0, 0.5, 0.0, 1.0], 161, 91, str(tmp_path / "a.exr"), str(tmp_path / "a.jpg"))
    )
    assert failed.cause == "bad-result"
    assert "80×91 pixels instead of 161×91" in failed.what
    assert not (tmp_path / "a.exr").exists()


def test_a_merged_frame_that_does_not_fit_is_refused(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build())
    whole(child, tmp_path / "good.exr")
    good = (tmp_path / "good.exr").read_bytes()
    tile(child, Box(0, 0, 80, 91), tmp_path / "half.exr")
    (tmp_path / "head.exr").write_bytes(good[:1000])
    (tmp_path / "tail.exr").write_bytes(good[: len(good) * 2 // 3])
    (tmp_path / "text.exr").write_text("not a picture")
    for name, words in (
        ("half", "80×91"),
        ("head", "cut short"),
        ("tail", "cut short"),
        ("text", "not a readable EXR"),
        ("none", "not a readable EXR"),
    ):
        merged, out, preview = tmp_path / f"{name}.exr", tmp_path / name, tmp_path / "preview.jpg"
        failed = child.failed(FinishFrame(look(), str(merged), str(out), str(preview)))
        assert failed.cause == "bad-result", failed
        assert words in failed.what


def test_a_merged_frame_without_the_passes_to_denoise_is_refused(
    start: Start, build: Build, tmp_path: Path
) -> None:
    whole(start(build()), tmp_path / "plain.exr")
    child = start(build(denoise=True))
    failed = child.failed(
        FinishFrame(look(), str(tmp_path / "plain.exr"), str(tmp_path / "out"), str(tmp_path / "p.jpg"))
    )
    assert failed.cause == "bad-result"
    assert "no pass “Denoising Albedo”" in failed.what
