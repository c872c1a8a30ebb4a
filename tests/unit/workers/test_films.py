from __future__ import annotations

from typing import Any

import pytest

from farm.domain.job import RenderSettings
from farm.domain.plan import Plan, Video
from farm.domain.scene import Blob, SceneManifest, SceneReport
from farm.domain.task import TaskKind
from farm.domain.work import Cause, FramePicture, Order, Role, StoredFile
from workers.failures import AttemptFailed
from workers.steps.films import Film, films

BLOB = Blob(sha256="0" * 64, bytes=1)
MANIFEST = SceneManifest(main="a.blend", files={"a.blend": BLOB})
REPORT: dict[str, Any] = {
    "scene": "Scene",
    "scenes": ("Scene",),
    "camera": None,
    "cameras": (),
    "frame_start": 1,
    "frame_end": 9,
    "full_width": 64,
    "full_height": 36,
    "percentage": 100,
    "engine": "CYCLES",
    "samples": 1,
    "file_format": "FFMPEG",
}


def output(frame: int, name: str, role: Role = Role.OUTPUT) -> FramePicture:
    return FramePicture(
        frame=frame, file=StoredFile(role=role, name=name, key=f"k/{frame}/{name}", blob=BLOB)
    )


def order(
    *pictures: FramePicture, frames: str = "1-2", videos: tuple[Video, ...] = (Video.SCENE,), **report: Any
) -> Order:
    return Order(
        attempt_id="a",
        task="job/encode",
        kind=TaskKind.ENCODE,
        scene_id=MANIFEST.scene_id,
        manifest=MANIFEST,
        settings=RenderSettings(),
        prefix="p/",
        plan=Plan(frames=frames, width=64, height=36, videos=videos, reason="test"),
        report=SceneReport(**{**REPORT, **report}),
        pictures=pictures,
    )


def names(of: Order) -> list[tuple[str, list[str]]]:
    return [(film.view, [picture.file.name for picture in film.pictures]) for film in films(of)]


def test_a_movie_takes_each_frames_picture_in_the_order_of_the_frames() -> None:
    pictures = (output(9, "shot_0009.png"), output(1, "shot_0001.png"), output(5, "shot_0005.png"))
    wanted = [("", ["shot_0001.png", "shot_0005.png", "shot_0009.png"])]
    assert names(order(*pictures, frames="1-9x4")) == wanted


@pytest.mark.parametrize(
    ("output_name", "own"),
    [
        ("shot_####", "shot_0001.png"),
        ("shot_", "shot_0001.exr"),
        ("", "0001.png"),
        ("a_##_b", "a_01_b.png"),
        ("clip.mp4", "clip.mp40001.png"),
        ("shot_", "shot_0001"),
    ],
)
def test_what_nodes_wrote_beside_it_is_not_the_frames_own_picture(output_name: str, own: str) -> None:
    others = (output(1, "depth0001.png"), output(1, "masks/shot_0001.png"))
    found = names(order(*others, output(1, own), frames="1", output_name=output_name))
    assert found == [("", [own])]


def test_the_sign_of_a_frame_below_zero_is_no_digit() -> None:
    pictures = (output(-3, "shot_-0003.png"), output(-3, "depth-0003.png"))
    assert names(order(*pictures, frames="-3", output_name="shot_####")) == [("", ["shot_-0003.png"])]


def test_which_picture_is_the_frames_own_is_never_guessed() -> None:
    with pytest.raises(AttemptFailed, match="frame 1 has 2 pictures") as caught:
        films(order(output(1, "a.png"), output(1, "b.png"), frames="1", output_name="shot_"))
    assert caught.value.cause is Cause.BAD_RESULT


def test_each_view_has_a_movie_of_its_own() -> None:
    pictures = [output(frame, f"shot_{frame:04d}{view}.png") for frame in (1, 2) for view in ("_L", "_R")]
    of = order(*pictures, views=("_L", "_R"), output_name="shot_####")
    assert names(of) == [
        ("_L", ["shot_0001_L.png", "shot_0002_L.png"]),
        ("_R", ["shot_0001_R.png", "shot_0002_R.png"]),
    ]
    left, right = films(of)
    assert left.named("shot_0001-0002.mp4") == "shot_0001-0002_L.mp4"
    assert right.named("shot") == "shot_R"


@pytest.mark.parametrize("suffix", ["/../x", "a/b", "\n", "\\"])
def test_a_view_whose_suffix_is_no_part_of_a_name_is_told(suffix: str) -> None:
    with pytest.raises(AttemptFailed, match="suffix of a view") as caught:
        Film(Video.SCENE, (), suffix).named("shot.mp4")
    assert caught.value.cause is Cause.BAD_SCENE


def test_views_in_one_picture_make_one_movie() -> None:
    pictures = [output(frame, f"shot_{frame:04d}.png") for frame in (1, 2)]
    found = names(order(*pictures, views=("_L", "_R"), output_name="shot_####"))
    assert found == [("", ["shot_0001.png", "shot_0002.png"])]


def test_one_view_of_several_gives_the_movie_its_name() -> None:
    pictures = [output(frame, f"shot_{frame:04d}_L.png") for frame in (1, 2)]
    found = names(order(*pictures, views=("_L", "_R"), output_name="shot_####"))
    assert found == [("_L", ["shot_0001_L.png", "shot_0002_L.png"])]


def test_a_preview_movie_takes_the_previews_and_of_two_the_last() -> None:
    pictures = (
        output(1, "shot_0001.png"),
        output(1, "_farm/preview.jpg", Role.PREVIEW),
        output(2, "_farm/older.jpg", Role.PREVIEW),
        output(2, "_farm/preview.jpg", Role.PREVIEW),
    )
    found = names(order(*pictures, videos=(Video.PREVIEW,), views=("_L", "_R"), output_name="shot_"))
    assert found == [("", ["_farm/preview.jpg", "_farm/preview.jpg"])]


def test_frames_without_a_picture_are_named() -> None:
    with pytest.raises(AttemptFailed) as caught:
        films(order(output(2, "shot_0002.png"), frames="1-9"))
    assert caught.value.cause is Cause.BAD_RESULT
    assert caught.value.what == (
        "The movie cannot be made: there is no picture of frames 1, 3, 4, 5, 6 and 3 more."
    )
    with pytest.raises(AttemptFailed, match=r"no picture of frame 2\."):
        films(order(output(1, "shot_0001.png"), frames="1-2"))
