from __future__ import annotations

import hashlib

import pytest
from pydantic import ValidationError

from farm.domain.errors import UsageError
from farm.domain.frames import FrameRange
from farm.domain.scene import Blob, Finding, SceneManifest, SceneReport, Weight
from farm.domain.tiles import Size

BLOB = Blob(sha256="a" * 64, bytes=10)
OTHER = Blob(sha256="b" * 64, bytes=5)


def report(**fields: object) -> SceneReport:
    base: dict[str, object] = {
        "scene": "Scene",
        "scenes": ("Scene",),
        "camera": "Camera",
        "cameras": ("Camera",),
        "frame_start": 1,
        "frame_end": 10,
        "full_width": 1920,
        "full_height": 1080,
        "percentage": 100,
        "engine": "CYCLES",
        "samples": 64,
        "file_format": "PNG",
    }
    return SceneReport.model_validate(base | fields)


def test_the_same_files_at_the_same_paths_are_the_same_scene() -> None:
    one = SceneManifest(main="a.blend", files={"a.blend": BLOB, "t/x.png": OTHER})
    same = SceneManifest(main="a.blend", files={"t/x.png": OTHER, "a.blend": BLOB})

    assert one.scene_id == same.scene_id
    assert one.bytes == 15
    assert len(one.scene_id) == 64


@pytest.mark.parametrize(
    "other",
    [
        SceneManifest(main="a.blend", files={"a.blend": OTHER, "t/x.png": OTHER}),
        SceneManifest(main="a.blend", files={"a.blend": BLOB, "t/y.png": OTHER}),
        SceneManifest(main="t/x.png", files={"a.blend": BLOB, "t/x.png": OTHER}),
        SceneManifest(main="a.blend", files={"a.blend": BLOB}),
    ],
)
def test_anything_else_is_another_scene(other: SceneManifest) -> None:
    one = SceneManifest(main="a.blend", files={"a.blend": BLOB, "t/x.png": OTHER})

    assert other.scene_id != one.scene_id


def test_a_scene_id_stays_what_it_was_in_earlier_releases() -> None:
    manifest = SceneManifest(main="a.blend", files={"a.blend": BLOB})
    written = '{"files":{"a.blend":{"bytes":10,"sha256":"' + "a" * 64 + '"}},"main":"a.blend"}'

    assert manifest.scene_id == hashlib.sha256(written.encode()).hexdigest()


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "..", "", ".", "a\\b", "a\0b", "//x"])
def test_a_path_that_leaves_the_folder_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="points outside of the scene's folder"):
        SceneManifest(main="a.blend", files={"a.blend": BLOB, name: BLOB})


@pytest.mark.parametrize("name", ["./x", "t//x", "t/./x", "t/"])
def test_a_path_with_two_spellings_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="should be written"):
        SceneManifest(main="a.blend", files={"a.blend": BLOB, name: BLOB})


def test_a_file_that_is_a_folder_too_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"“t” is both a file and the folder of “t/deep/x\.png”"):
        SceneManifest(main="a.blend", files={"a.blend": BLOB, "t": BLOB, "t/deep/x.png": BLOB})


@pytest.mark.parametrize("name", ["a b.blend", "Käfer/ü.png", "...", "a..b/c", "-rf", "C:x"])
def test_odd_names_of_artists_are_fine(name: str) -> None:
    assert SceneManifest(main=name, files={name: BLOB}).main == name


def test_a_manifest_without_its_own_scene_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"does not list its own scene, “b\.blend”"):
        SceneManifest(main="b.blend", files={"a.blend": BLOB})


@pytest.mark.parametrize("sha256", ["", "a" * 63, "A" * 64, "g" * 64, "a" * 64 + "\n"])
def test_a_blob_is_named_by_a_sha256(sha256: str) -> None:
    with pytest.raises(ValidationError):
        Blob(sha256=sha256, bytes=1)


def test_a_blob_has_no_negative_size() -> None:
    with pytest.raises(ValidationError):
        Blob(sha256="a" * 64, bytes=-1)


def test_values_are_frozen_and_refuse_unknown_fields() -> None:
    with pytest.raises(ValidationError):
        BLOB.bytes = 3  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Blob.model_validate({"sha256": "a" * 64, "bytes": 1, "extra": 1})


@pytest.mark.parametrize(
    ("width", "height", "percentage", "asked", "size"),
    [
        (1920, 1080, 100, None, Size(1920, 1080)),
        (1920, 1080, 33, None, Size(633, 356)),
        (1920, 1080, 33, 50, Size(960, 540)),
        (641, 361, 50, None, Size(320, 180)),
        (101, 99, 200, None, Size(202, 198)),
    ],
)
def test_sizes_are_floored_as_blender_floors_them(
    width: int, height: int, percentage: int, asked: int | None, size: Size
) -> None:
    made = report(full_width=width, full_height=height, percentage=percentage)

    assert made.size(asked) == size


def test_the_frames_of_a_scene_follow_its_step() -> None:
    assert report(frame_start=1, frame_end=10, frame_step=4).frames == FrameRange.parse("1-10x4")


def test_a_scene_whose_end_is_before_its_start_is_told() -> None:
    with pytest.raises(UsageError, match="runs backwards"):
        _ = report(frame_start=10, frame_end=1).frames


def test_only_errors_stop_a_job() -> None:
    findings = [Finding(code=f"code-{weight}", weight=weight, what="What.") for weight in Weight]

    assert [f.code for f in report(findings=tuple(findings)).errors] == ["code-error"]


def test_a_report_survives_the_wire() -> None:
    made = report(marker_cameras={5: "Side"}, findings=(Finding(code="a", weight=Weight.NOTE, what="b"),))

    assert SceneReport.model_validate_json(made.model_dump_json()) == made
