"""Sample ranges: averaged, they are the samples at once; index, depth and position are the first range's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from farm.domain.tiles import Size
from tests.integration.blender.cut import Channels, whole
from tests.integration.blender.driver import RenderProcess, same_bits
from workers.protocol import Open

Build = Callable[..., Path]
SIZE = Size(64, 36)
TOTAL = 21
#: Written by the range that holds sample 0 alone.
FIRST = ("Depth", "Object Index", "Material Index", "Position")
LIGHT = ("Diffuse Direct", "Diffuse Indirect", "Glossy Direct", "Glossy Indirect")

SCENES = {
    "two layers": {"layers": 2},
    "animated seed": {"extra": "scene.cycles.use_animated_seed = True; scene.cycles.seed = 5"},
    "clear": {"extra": "scene.render.film_transparent = True; scene.cycles.sample_clamp_indirect = 0.3"},
    "stereo": {"extra": "scene.render.use_multiview = True"},
    "no colours": {
        "extra": "layer = scene.view_layers[0]; layer.use_pass_diffuse_color = False;"
        "layer.use_pass_glossy_indirect = True"
    },
}


def averaged(ranges: list[tuple[int, Channels]]) -> Channels:
    """Sums of what the ranges stored, in float64; light is weighed by its colour and divided by it anew."""
    total = sum(count for count, _ in ranges)
    found = {}
    for name in ranges[0][1]:
        layer, _, own = name.rpartition(".")
        if not any(light in layer for light in LIGHT):
            found[name] = sum(count * got[name].astype(float) for count, got in ranges) / total
        elif own == "R":
            colour = layer.replace("Direct", "Color").replace("Indirect", "Color")
            light, by = np.zeros((2, 3, *ranges[0][1][name].shape))
            for count, got in ranges:
                tint = count * np.stack([got[f"{colour}.{one}"] for one in "RGB"]).astype(float)
                by += tint
                light += tint * np.stack([got[f"{layer}.{one}"] for one in "RGB"])
            found |= {f"{layer}.{one}": value for one, value in zip("RGB", divided(light, by), strict=True)}
    return found


def divided(light: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Cycles' division by a colour: a channel that the colour lacks is the mean of the others."""
    there = by != 0
    quotient = np.divide(light, by, out=np.zeros_like(light), where=there)
    mean = quotient.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there, quotient, mean)


@pytest.mark.parametrize("name", SCENES)
def test_ranges_average_to_the_samples_at_once(build: Build, tmp_path: Path, name: str) -> None:
    path = build(width=64, height=36, objects=3, samples=TOTAL, **SCENES[name])
    with RenderProcess(tmp_path / "log.txt") as child:
        child.done(Open(str(path)))
        expected = whole(child, tmp_path / "whole.exr", size=SIZE)
        ranges = [
            (count, whole(child, tmp_path / "part.exr", size=SIZE, part=[first, count, TOTAL, 0]))
            for first, count in ((0, 8), (8, 8), (16, 5))
        ]
        again = whole(child, tmp_path / "again.exr", size=SIZE)
    assert same_bits(expected, again) == []
    assert set(expected) <= set(ranges[0][1])
    found = averaged(ranges)
    for channel, value in expected.items():
        kind = channel.split(".")[1]
        if kind in FIRST:
            assert ranges[0][1][channel].tobytes() == value.tobytes(), channel
        elif not kind.startswith("Crypto"):
            np.testing.assert_allclose(found[channel], value, rtol=1e-6, atol=3e-7, err_msg=channel)
    red = next(each for each in expected if "Combined" in each and each.endswith("R"))
    assert len({got[red].tobytes() for _, got in ranges}) == len(ranges)


def test_a_range_of_all_samples_is_the_picture_and_another_seed_is_another(
    build: Build, tmp_path: Path
) -> None:
    with RenderProcess(tmp_path / "log.txt") as child:
        child.done(Open(str(build(width=64, height=36, objects=2, samples=8))))
        expected = whole(child, tmp_path / "whole.exr", size=SIZE)
        all_of_it = whole(child, tmp_path / "all.exr", size=SIZE, part=[0, 8, 8, 0])
        assert same_bits({name: all_of_it[name] for name in expected}, expected) == []
        other = whole(child, tmp_path / "other.exr", size=SIZE, part=[0, 8, 8, 1])
        assert "ViewLayer.Combined.R" in same_bits({name: other[name] for name in expected}, expected)
        fewer = whole(child, tmp_path / "fewer.exr", size=SIZE, part=[0, 8, 64, 0])
        assert "ViewLayer.Combined.R" in same_bits({name: fewer[name] for name in expected}, expected)


def test_single_samples_of_several_layers_come_out_the_same_from_a_warm_process(
    build: Build, tmp_path: Path
) -> None:
    with RenderProcess(tmp_path / "log.txt") as child:
        child.done(Open(str(build(width=64, height=36, objects=2, samples=4, layers=2))))
        first = whole(child, tmp_path / "first.exr", size=SIZE, part=[0, 1, 4, 0])
        second = whole(child, tmp_path / "second.exr", size=SIZE, part=[1, 1, 4, 0])
        again = whole(child, tmp_path / "again.exr", size=SIZE, part=[0, 1, 4, 0])
    assert same_bits(first, again) == []
    assert "Layer 1.Combined.R" in same_bits(first, second)
