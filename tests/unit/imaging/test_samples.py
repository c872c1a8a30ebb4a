"""Frames cut by samples: what the ranges give together is what all samples give."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import OpenEXR
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.imaging.pictures import Parts, Told, load, save
from workers.child import Refusal
from workers.imaging.exr import inspect_exr
from workers.imaging.merge import merge_frame
from workers.protocol import Done, MergeFrame, PieceFile

WIDTH, HEIGHT = 7, 5
SHAPE = (HEIGHT, WIDTH)
BOX = [0, 0, WIDTH, HEIGHT]
IDS = np.array([0x3F800001, 0xBF123456, 0x00800001, 0x7F000000], np.uint32)  # as float32: never equal


class Renderer:
    """Makes samples as Cycles does, and the pictures of any range of them."""

    def __init__(self, samples: int, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.light = random.random((samples, 3, *SHAPE)) * 4
        self.colour = random.random((samples, 3, *SHAPE))
        self.colour[:, 1, 0] = 0  # a line without green
        self.colour[:, :, 1] = 0  # a line without any colour
        self.light[self.colour == 0] = 0
        self.ids = random.integers(0, len(IDS) + 1, (samples, *SHAPE))  # the last: nothing was hit
        self.depth = np.where(random.random(SHAPE) < 0.2, 1e10, random.random(SHAPE) * 9).astype(np.float32)

    def picture(self, first: int, end: int) -> Parts:
        light, colour = (each[first:end].sum(axis=0) for each in (self.light, self.colour))
        count, has = end - first, colour != 0
        quotient = np.divide(light, colour, out=np.zeros_like(light), where=has)
        grey = quotient.sum(axis=0) / np.maximum(has.sum(axis=0), 1)
        direct, mean = np.where(has, quotient, grey), light / count
        depth = self.depth if first == 0 else np.full(SHAPE, 1e10, np.float32)
        return {
            "L.Combined": _channels("L.Combined", "RGBA", [*mean, np.ones(SHAPE)]),
            "L.Depth": {"L.Depth.Z": depth},
            "L.Object Index": _channels("L.Object Index", "X", [self.depth * (first == 0)]),
            "L.Diffuse Direct": _channels("L.Diffuse Direct", "RGB", direct),
            "L.Diffuse Color": _channels("L.Diffuse Color", "RGB", colour / count),
            **self._cryptomatte(first, end),
        }

    def _cryptomatte(self, first: int, end: int) -> Parts:
        counts = np.stack([(self.ids[first:end] == n).sum(axis=0) for n in range(len(IDS))])
        order = np.argsort(-counts, axis=0, kind="stable")
        coverage = np.take_along_axis(counts, order, axis=0) / (end - first)
        ids = np.where(coverage > 0, IDS[order], 0).astype(np.uint32).view(np.float32)
        return {
            f"L.CryptoObject0{level}": {
                f"L.CryptoObject0{level}.{name}": np.ascontiguousarray(values, np.float32)
                for name, values in zip(
                    "rgba",
                    (ids[2 * level], coverage[2 * level], ids[2 * level + 1], coverage[2 * level + 1]),
                    strict=True,
                )
            }
            for level in (0, 1)
        }


def _channels(name: str, letters: str, values: Sequence[Any]) -> dict[str, Any]:
    return {
        f"{name}.{letter}": np.ascontiguousarray(value, np.float32)
        for letter, value in zip(letters, values, strict=True)
    }


def piece(path: Path, samples: list[int], parts: Parts, **more: Any) -> PieceFile:
    return PieceFile(str(save(path, parts, more.pop("header", None))), BOX, BOX, samples, **more)


def merged(tmp_path: Path, pieces: list[PieceFile]) -> tuple[Done, Parts]:
    out = tmp_path / "merged.exr"
    done = merge_frame(MergeFrame(pieces, WIDTH, HEIGHT, str(out)), Told())
    return done, load(out) if done.outputs else {}


def by_id(parts: Parts, y: int, x: int) -> dict[int, float]:
    """Coverage by id of one pixel; an id that is there twice fails."""
    found: dict[int, float] = {}
    for level in (0, 1):
        channels = parts[f"L.CryptoObject0{level}"]
        for one, other in ("rg", "ba"):
            key = int(channels[f"L.CryptoObject0{level}.{one}"].view(np.uint32)[y, x])
            assert key not in found or key == 0
            found[key] = float(channels[f"L.CryptoObject0{level}.{other}"][y, x])
    found.pop(0, None)
    return found


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_cut_of_the_samples_gives_what_all_of_them_give(tmp_path: Path, data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 24))
    renderer = Renderer(total, data.draw(st.integers(0, 5)))
    end = data.draw(st.integers(1, total))
    cuts = sorted(data.draw(st.sets(st.integers(1, end), max_size=5)) | {0, end})
    pieces = [
        piece(tmp_path / f"{a}.exr", [a, b - a, total, 0], renderer.picture(a, b)) for a, b in pairwise(cuts)
    ]
    data.draw(st.randoms()).shuffle(pieces)

    done, out = merged(tmp_path, pieces)

    whole = renderer.picture(0, end)
    assert done.notes == []
    assert list(out) == list(whole)
    for name in ("L.Combined", "L.Diffuse Direct", "L.Diffuse Color"):
        for channel, wanted in whole[name].items():
            np.testing.assert_allclose(out[name][channel], wanted, rtol=1e-6, atol=0, err_msg=channel)
    for name in ("L.Depth", "L.Object Index"):
        for channel, wanted in whole[name].items():
            assert out[name][channel].tobytes() == wanted.tobytes()
    for y in range(HEIGHT):
        for x in range(WIDTH):
            assert by_id(out, y, x) == pytest.approx(by_id(whole, y, x), rel=1e-6)
            assert list(by_id(out, y, x).values()) == sorted(by_id(out, y, x).values(), reverse=True)


def test_a_single_range_comes_out_as_it_went_in(tmp_path: Path) -> None:
    renderer = Renderer(5)

    _, out = merged(tmp_path, [piece(tmp_path / "all.exr", [0, 5, 5, 0], renderer.picture(0, 5))])

    parts = renderer.picture(0, 5)
    for name in ("L.Combined", "L.Depth", "L.Diffuse Color", "L.CryptoObject00", "L.CryptoObject01"):
        for channel, wanted in parts[name].items():
            assert out[name][channel].tobytes() == wanted.tobytes(), channel


def test_another_seed_is_a_picture_of_its_own_and_weighs_as_many_samples_as_it_has(tmp_path: Path) -> None:
    flat = [{"L.Combined": _channels("L.Combined", "R", [np.full(SHAPE, v)])} for v in (1.0, 3.0, 8.0)]
    depth = [{"L.Depth": {"L.Depth.Z": np.full(SHAPE, v, np.float32)}} for v in (5.0, 1e10, 6.0)]
    ranges = [[0, 2, 4, 0], [2, 2, 4, 0], [0, 12, 12, 7]]
    headers = [{"cycles.L.samples": text} for text in ("4", "4", "12")]
    pieces = [
        piece(tmp_path / f"{n}.exr", samples, {**flat[n], **depth[n]}, header=headers[n])
        for n, samples in reversed(list(enumerate(ranges)))
    ]

    _, out = merged(tmp_path, pieces)

    assert np.unique(out["L.Combined"]["L.Combined.R"]) == np.float32((2 * 1 + 2 * 3 + 12 * 8) / 16)
    assert np.unique(out["L.Depth"]["L.Depth.Z"]) == 5, "of the lowest seed"
    assert inspect_exr(tmp_path / "merged.exr").metadata["cycles.L.samples"] == "16"


def test_light_without_its_colour_is_averaged_with_a_note(tmp_path: Path) -> None:
    renderer, pieces = Renderer(4), []
    for first in (0, 2):
        parts = renderer.picture(first, first + 2)
        del parts["L.Diffuse Color"]
        pieces.append(piece(tmp_path / f"{first}.exr", [first, 2, 4, 0], parts))

    done, _ = merged(tmp_path, pieces)

    assert done.notes == [
        "Averaged by samples, so near to the whole frame but not the same: “L.Diffuse Direct”."
    ]


@pytest.mark.parametrize("name", ["L.Vector", "L.Shadow Catcher"])
def test_quotients_without_their_divisor_are_averaged_with_a_note_where_they_differ(
    name: str, tmp_path: Path
) -> None:
    pictures = [{name: _channels(name, "RGB", [np.full(SHAPE, v)] * 3)} for v in (1.0, 1.0, 4.0)]
    ranges = [[0, 2, 6, 0], [2, 2, 6, 0], [4, 2, 6, 0]]
    pieces = [piece(tmp_path / f"{n}.exr", ranges[n], pictures[n]) for n in range(3)]

    same, _ = merged(tmp_path, pieces[:2])
    done, out = merged(tmp_path, pieces)

    assert same.notes == []
    assert done.notes == [f"Averaged by samples, so near to the whole frame but not the same: “{name}”."]
    assert np.unique(out[name][f"{name}.R"]) == 2


def test_the_sum_of_denoising_depth_stops_at_the_largest_number(tmp_path: Path) -> None:
    largest = np.finfo(np.float32).max
    depth = [np.where(np.arange(WIDTH) < 3, largest / count, 4.0) for count in (2, 6)]
    ranges = [[0, 2, 8, 0], [2, 6, 8, 0]]
    pieces = [
        piece(
            tmp_path / f"{n}.exr",
            ranges[n],
            {"L.Denoising Depth": _channels("L.Denoising Depth", "Z", [np.tile(depth[n], (HEIGHT, 1))])},
        )
        for n in range(2)
    ]

    _, out = merged(tmp_path, pieces)

    row = out["L.Denoising Depth"]["L.Denoising Depth.Z"][0]
    np.testing.assert_allclose(row, [largest / 8] * 3 + [4.0] * 4, rtol=1e-6)


def test_of_several_views_each_has_its_own_colour_and_ids(tmp_path: Path) -> None:
    eyes = {"left": Renderer(6, seed=1), "right": Renderer(6, seed=2)}
    pieces = []
    for first, end in ((0, 2), (2, 6)):
        path = tmp_path / f"{first}.exr"
        _save_views(path, {view: eye.picture(first, end) for view, eye in eyes.items()})
        pieces.append(PieceFile(str(path), BOX, BOX, [first, end - first, 6, 0]))

    _, out = merged(tmp_path, pieces)

    for view, eye in eyes.items():
        mine = {name.removesuffix(f"-{view}"): part for name, part in out.items() if name.endswith(view)}
        whole = eye.picture(0, 6)
        for channel, wanted in whole["L.Diffuse Direct"].items():
            np.testing.assert_allclose(mine["L.Diffuse Direct"][channel], wanted, rtol=1e-6, atol=0)
        assert by_id(mine, 2, 3) == pytest.approx(by_id(whole, 2, 3), rel=1e-6)


def _save_views(path: Path, views: dict[str, Parts]) -> None:
    OpenEXR.File(
        [
            OpenEXR.Part({"type": OpenEXR.scanlineimage, "view": view}, parts[name], f"{name}-{view}")
            for name in next(iter(views.values()))
            for view, parts in views.items()
        ]
    ).write(str(path))


# --- ranges that make no picture -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranges", "what"),
    [
        ([[2, 2, 8, 0]], "Samples 1 to 2 are in none of the 1 pieces."),
        ([[0, 2, 8, 0], [4, 4, 8, 0]], "Samples 3 to 4 are in none of the 2 pieces."),
        ([[0, 4, 8, 0], [2, 6, 8, 0]], "Piece 2 of 2 has samples that another piece has too."),
        ([[0, 4, 8, 0], [0, 4, 8, 0]], "Piece 2 of 2 has samples that another piece has too."),
        ([[0, 4, 8, 0], [4, 5, 8, 0]], "Piece 2 of 2 has samples beyond the total of 8."),
        ([[0, 4, 8, 0], [4, 4, 8, 1]], "Samples 1 to 4 are in none of the 2 pieces."),
        ([[0, 0, 8, 0]], "Piece 1 of 1: [0, 0, 8, 0] is no range of samples."),
        ([[0, 4, 8]], "Piece 1 of 1: [0, 4, 8] is no range of samples."),
    ],
)
def test_samples_that_are_missing_or_there_twice_are_told(
    ranges: list[list[int]], what: str, tmp_path: Path
) -> None:
    pieces = [PieceFile(str(tmp_path / "none.exr"), BOX, BOX, samples) for samples in ranges]

    with pytest.raises(Refusal) as caught:
        merged(tmp_path, pieces)

    assert caught.value.what == what


def test_a_range_of_less_than_the_area_is_refused(tmp_path: Path) -> None:
    part = [0, 0, WIDTH - 1, HEIGHT]
    pieces = [PieceFile("/a.exr", BOX, BOX, [0, 1, 2, 0]), PieceFile("/b.exr", part, part, [1, 1, 2, 0])]

    with pytest.raises(Refusal) as caught:
        merged(tmp_path, pieces)

    assert caught.value.what == "Piece 2 of 2 has some of the samples, but not of the whole area."


def test_tiles_and_ranges_do_not_mix(tmp_path: Path) -> None:
    pieces = [PieceFile("/a.exr", BOX, BOX, [0, 1, 2, 0]), PieceFile("/b.exr", BOX, BOX)]

    with pytest.raises(Refusal) as caught:
        merged(tmp_path, pieces)

    assert caught.value.what == "Piece 2 of 2 is a part of the area, and others are parts of the samples."


@pytest.mark.parametrize("sure", [False, True])
def test_a_range_that_is_black_though_others_are_not_is_a_suspect(sure: bool, tmp_path: Path) -> None:
    renderer = Renderer(6)
    parts = renderer.picture(2, 6)
    for pixels in parts["L.Combined"].values():
        pixels[:] = 0
    pieces = [
        piece(tmp_path / "0.exr", [0, 2, 6, 0], renderer.picture(0, 2)),
        piece(tmp_path / "2.exr", [2, 4, 6, 0], parts, sure=sure),
    ]

    done, _ = merged(tmp_path, pieces)

    assert done.report is not None
    assert done.report["suspects"] == ([] if sure else [1])
    assert done.notes == (["Piece 2 of 2 is completely black and transparent."] if sure else [])


def test_a_range_that_is_not_finite_is_named(tmp_path: Path) -> None:
    renderer = Renderer(4)
    parts = renderer.picture(2, 4)
    parts["L.Combined"]["L.Combined.R"][1, 1] = np.nan
    pieces = [
        piece(tmp_path / "0.exr", [0, 2, 4, 0], renderer.picture(0, 2)),
        piece(tmp_path / "2.exr", [2, 2, 4, 0], parts),
    ]

    with pytest.raises(Refusal) as caught:
        merged(tmp_path, pieces)

    assert caught.value.what == "Piece 2 of 2 has 1 pixel without a finite value in “L.Combined”."
    assert caught.value.pieces == [1]
