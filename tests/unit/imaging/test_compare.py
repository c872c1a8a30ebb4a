"""Two multilayer files, held against each other pass by pass; or one, against digests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, cast

import numpy as np
import OpenEXR
import pytest

from workers.child import Link, Refusal
from workers.imaging.compare import compare
from workers.protocol import Compare

SHAPE = (5, 7)
Passes = dict[str, dict[str, np.ndarray]]


def values(seed: int, dtype: str = "<f4") -> np.ndarray:
    return np.random.default_rng(seed).random(SHAPE).astype(dtype)


def passes() -> Passes:
    return {
        "View.Layer.Combined": {channel: values(number) for number, channel in enumerate("RGBA")},
        "View.Layer.Depth": {"Z": values(4)},
        "View.Layer.Render Time": {"X": values(5)},
    }


def write(path: Path, made: Passes, view: str = "", **header: Any) -> Path:
    parts = []
    for name, channels in made.items():
        attributes = {"type": OpenEXR.scanlineimage, "compression": OpenEXR.ZIP_COMPRESSION}
        if not parts:
            attributes |= header
        if view:
            attributes["view"] = view
        own = {f"{name}.{channel}": array for channel, array in channels.items()}
        parts.append(OpenEXR.Part(attributes, own, f"{name}-{view}" if view else name))
    OpenEXR.File(parts).write(str(path))
    return path


def rows(**request: Any) -> dict[str, dict[str, Any]]:
    done = compare(
        Compare(**{key: str(v) if isinstance(v, Path) else v for key, v in request.items()}),
        cast("Link", None),
    )
    assert done.report is not None
    return {row["name"]: row for row in done.report["rows"]}


def digest(channels: dict[str, np.ndarray]) -> str:
    """As documented at `farm.domain.work.Result.digests`."""
    return hashlib.sha256(b"".join(channels[name].tobytes() for name in sorted(channels))).hexdigest()


def told(found: dict[str, dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    return {
        name: (row["differing"], row["largest"], row["note"])
        for name, row in found.items()
        if not row["same"]
    }


def test_a_pass_called_as_its_view_keeps_its_name(tmp_path: Path) -> None:
    made = {name: {"X": values(1)} for name in ("L.Depth", "L.left")}
    path = write(tmp_path / "a.exr", made, view="left")
    assert list(rows(reference=path, candidate=path)) == ["L.Depth.left", "L.left.left", "metadata"]


def test_equal_files_are_the_same_in_every_row(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.exr", passes()), write(tmp_path / "b.exr", passes())
    found = rows(reference=first, candidate=second)
    assert list(found) == ["View.Layer.Combined", "View.Layer.Depth", "View.Layer.Render Time", "metadata"]
    assert told(found) == {}
    assert found["View.Layer.Combined"]["pixels"] == 35
    assert found["View.Layer.Combined"]["differing"] == 0


def test_values_passes_and_metadata_that_differ_are_named_with_numbers(tmp_path: Path) -> None:
    reference = write(tmp_path / "a.exr", passes(), Camera="A", Date="1", **{"cycles.L.render_time": "1"})
    made = passes()
    made["View.Layer.Combined"]["G"][2, 3] += np.float32(0.25)
    made["View.Layer.Combined"]["A"][2, 3] += np.float32(0.125)
    made["View.Layer.Combined"]["A"][0, 0] += np.float32(0.125)
    del made["View.Layer.Depth"]
    made["View.Layer.AO"] = {"R": values(9)}
    made["View.Layer.Render Time"]["X"][0, 0] = 7
    candidate = write(tmp_path / "b.exr", made, Camera="B", Date="2", Extra="x" * 50)
    assert told(rows(reference=reference, candidate=candidate)) == {
        "View.Layer.Combined": (2, pytest.approx(0.25, abs=1e-6), ""),
        "View.Layer.Depth": (None, None, "the farm's frame has no such pass"),
        "View.Layer.AO": (None, None, "Blender renders no such pass"),
        "metadata": (None, None, f"Camera: “B”, reference “A”; Extra: “{'x' * 40}…”, reference none"),
    }


def test_a_denoised_pass_has_a_tolerance_of_its_own_where_its_noisy_one_is_compared(tmp_path: Path) -> None:
    made = passes() | {"View.Layer.Noisy Image": {"R": values(6)}}
    reference = write(tmp_path / "a.exr", made)
    made["View.Layer.Combined"]["R"][1, 1] += np.float32(1e-4)
    candidate = write(tmp_path / "b.exr", made)
    found = rows(reference=reference, candidate=candidate, tolerance=1e-6, denoised=1e-3)
    combined, noisy = found["View.Layer.Combined"], found["View.Layer.Noisy Image"]
    assert (combined["kind"], combined["same"], combined["differing"]) == ("denoised", True, 1)
    assert (combined["note"], noisy["kind"], noisy["differing"]) == ("within 0.001", "pass", 0)
    for name, told in rows(reference=reference, candidate=candidate, tolerance=1e-6).items():
        assert told["same"] == (name != "View.Layer.Combined"), "without it all are held to one tolerance"
    del made["View.Layer.Noisy Image"]
    alone = write(tmp_path / "c.exr", made)
    found = rows(reference=reference, candidate=alone, tolerance=1e-6, denoised=1e-3)
    assert not found["View.Layer.Combined"]["same"], "nothing stands for it"


def test_the_time_that_pixels_took_is_not_compared_and_says_so(tmp_path: Path) -> None:
    reference = write(tmp_path / "a.exr", passes())
    row = rows(reference=reference, candidate=reference)["View.Layer.Render Time"]
    assert (row["same"], row["differing"], row["note"]) == (
        True,
        None,
        "how long each pixel took: not compared",
    )


def test_a_manifest_is_the_same_in_any_order(tmp_path: Path) -> None:
    key = "cryptomatte/542cafa/manifest"
    first = write(tmp_path / "a.exr", passes(), **{key: '{"A":"01","B":"02"}'})
    second = write(tmp_path / "b.exr", passes(), **{key: '{"B":"02","A":"01"}'})
    third = write(tmp_path / "c.exr", passes(), **{key: '{"A":"01"}'})
    assert told(rows(reference=first, candidate=second)) == {}
    assert list(told(rows(reference=first, candidate=third))) == ["metadata"]


def test_passes_that_only_the_reference_was_made_to_store_are_not_missed(tmp_path: Path) -> None:
    reference = write(tmp_path / "a.exr", passes())
    made = passes()
    del made["View.Layer.Depth"]
    candidate = write(tmp_path / "b.exr", made)
    assert told(rows(reference=reference, candidate=candidate, added=["View.Layer.Depth"])) == {}


def test_another_size_type_or_channel_is_told_in_words(tmp_path: Path) -> None:
    reference = write(tmp_path / "a.exr", {"L.Depth": {"Z": values(1)}, "L.UV": {"U": values(2)}})
    half = {"L.Depth": {"Z": values(1, "<f2")}, "L.UV": {"U": values(2), "V": values(3)}}
    assert told(rows(reference=reference, candidate=write(tmp_path / "b.exr", half))) == {
        "L.Depth": (None, None, "“L.Depth.Z” is float16 in the farm's, float32 in the reference"),
        "L.UV": (None, None, "the farm's has the channels U, V, the reference U"),
    }
    small = {"L.Depth": {"Z": values(1)[:, :4]}, "L.UV": {"U": values(2)[:, :4]}}
    found = told(rows(reference=reference, candidate=write(tmp_path / "c.exr", small)))
    assert found["L.Depth"] == (None, None, "the farm's has 4×5 pixels, the reference 7×5")


def test_views_are_told_apart_with_or_without_their_name_in_the_channels(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.exr", {"L.Depth": {"Z": values(1)}}, "left")
    spelled = write(tmp_path / "b.exr", {"L.Depth.left": {"Z": values(1)}}, "left")
    assert list(rows(reference=plain, candidate=plain)) == ["L.Depth.left", "metadata"]
    assert list(rows(reference=spelled, candidate=spelled)) == ["L.Depth.left", "metadata"]


def test_digests_are_compared_with_the_reference_pixels(tmp_path: Path) -> None:
    made = passes() | {"Composite.Combined": {"R": values(8)}}
    reference = write(tmp_path / "a.exr", made)
    digests = {name: digest(channels) for name, channels in passes().items()}
    found = rows(reference=reference, digests=digests)
    assert told(found) == {}
    assert "Composite.Combined" not in found  # a merged frame has none yet
    assert found["View.Layer.Depth"] == {
        "kind": "pass",
        "name": "View.Layer.Depth",
        "same": True,
        "pixels": 35,
        "differing": 0,
        "largest": 0.0,
        "note": "by its digest",
    }
    digests["View.Layer.Depth"] = digests.pop("View.Layer.Combined")
    digests["View.Layer.Mist"] = "0" * 64
    assert told(rows(reference=reference, digests=digests)) == {
        "View.Layer.Combined": (None, None, "the farm's frame has no such pass"),
        "View.Layer.Depth": (None, None, "by its digest"),
        "View.Layer.Mist": (None, None, "Blender renders no such pass"),
    }


def test_a_digest_of_a_denoised_pass_is_that_of_the_noisy_one(tmp_path: Path) -> None:
    noisy = {"R": values(6), "G": values(7)}
    shadow = {"R": values(8)}
    made: Passes = {
        "L.Combined": {"R": values(1), "G": values(2)},
        "L.Noisy Image": noisy,
        "L.Shadow Catcher": {"R": values(3)},
        "L.Noisy Shadow Catcher": shadow,
        "L.Denoising Albedo": {"R": values(4)},
        "Other.Combined": {"R": values(5)},
    }
    digests = {
        "L.Combined.left": digest(noisy),
        "L.Shadow Catcher.left": digest(shadow),
        "Other.Combined.left": digest(made["Other.Combined"]),
    }
    reference = write(tmp_path / "a.exr", made, "left")
    found = rows(reference=reference, digests=digests, noisy=True, added=["L.Denoising Albedo"])
    assert {name: (row["same"], row["note"]) for name, row in found.items()} == {
        "L.Combined.left": (True, "before denoising, by its digest"),
        "L.Shadow Catcher.left": (True, "before denoising, by its digest"),
        "Other.Combined.left": (True, "by its digest"),
    }
    digests["L.Combined.left"] = digest(made["L.Combined"])
    found = rows(reference=reference, digests=digests, noisy=True, added=["L.Denoising Albedo"])
    assert list(told(found)) == ["L.Combined.left"]


def test_what_pieces_carry_for_the_merge_and_the_finish_is_no_pass_of_the_frame(tmp_path: Path) -> None:
    counted: Passes = passes() | {"View.Layer.Debug Sample Count": {"X": values(9)}}
    helpers = {
        "View.Layer.Debug Sample Count": "0" * 64,  # a share of another number of samples than in the file
        "View.Layer.Diffuse Color": "0" * 64,
        "View.Layer.Glossy Color.left": "0" * 64,
    }
    digests = {name: digest(channels) for name, channels in passes().items()} | helpers
    found = rows(reference=write(tmp_path / "a.exr", counted), digests=digests)
    assert told(found) == {}
    assert found["View.Layer.Debug Sample Count"]["note"].endswith("not compared")
    assert "View.Layer.Diffuse Color" not in found
    assert told(rows(reference=write(tmp_path / "b.exr", passes()), digests=digests)) == {}
    asked = passes() | {"View.Layer.Diffuse Color": {"R": values(10)}}
    assert list(told(rows(reference=write(tmp_path / "c.exr", asked), digests=digests))) == [
        "View.Layer.Diffuse Color"
    ]


def test_digests_of_a_region_are_compared_with_that_much_of_the_frame(tmp_path: Path) -> None:
    reference = write(tmp_path / "a.exr", {"L.Depth": {"Z": values(1)}})
    digests = {"L.Depth": digest({"Z": values(1)[1:4, 2:6].copy()})}
    assert told(rows(reference=reference, digests=digests, area=[2, 1, 4, 3])) == {}
    assert list(told(rows(reference=reference, digests=digests, area=[1, 1, 4, 3]))) == ["L.Depth"]
    cropped = write(tmp_path / "b.exr", {"L.Depth": {"Z": values(1)[1:4, 2:6].copy()}})
    assert told(rows(reference=cropped, digests=digests, area=[2, 1, 4, 3])) == {}


def test_a_candidate_that_cannot_be_read_is_a_difference_and_a_reference_a_failure(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "a.exr", passes()), tmp_path / "b.exr"
    bad.write_bytes(good.read_bytes()[:-30])
    found = rows(reference=good, candidate=bad)
    assert [(row["name"], row["same"]) for row in found.values()] == [("passes", False)]
    assert found["passes"]["note"].startswith("The farm's frame is ")
    with pytest.raises(Refusal, match="The reference is"):
        rows(reference=bad, candidate=good)
    link = tmp_path / "link.exr"
    link.symlink_to(good)
    with pytest.raises(Refusal, match="The reference is not there"):
        rows(reference=link, candidate=good)
