"""The movie that the farm encodes of its frames is the movie that one Blender writes while it renders."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.integration.blender.driver import RenderProcess, look
from tests.integration.movies.reading import read_movie
from workers.protocol import MAX_LINE, Count, EncodeVideo, Failed, Open, RenderFrame

Start = Callable[..., RenderProcess]
Build = Callable[..., Path]
Direct = Callable[..., Path]

FIRST, LAST = 3, 8
FRAMES = list(range(FIRST, LAST + 1))
SMALL: dict[str, Any] = {"width": 64, "height": 36, "samples": 1, "objects": 2, "file_format": "FFMPEG"}

_AS = (
    "s = scene; r = s.render; i = r.image_settings; f = r.ffmpeg\n"
    "def movie(container, codec, depth='8', mode='RGB'):\n"
    "    f.format, f.codec = container, codec\n"
    "    i.color_depth, i.color_mode = depth, mode\n"
)
_GRADE = (
    "s.view_settings.view_transform = 'AgX'; s.view_settings.look = 'AgX - Punchy'\n"
    "s.view_settings.exposure, s.view_settings.gamma, r.dither_intensity = 0.7, 1.2, 1.5\n"
)
_TONE = (
    "editor = s.sequence_editor_create(); strip = editor.strips.new_sound('Tone', TONE, 1, 2)\n"
    "strip.volume = 0.8; strip.keyframe_insert('volume', frame=3)\n"
    "strip.volume = 0.1; strip.keyframe_insert('volume', frame=8)\n"
)
_SPEAKER = (
    "bpy.ops.object.speaker_add(location=(2, 0, 0)); speaker = bpy.context.object\n"
    "speaker.data.sound = bpy.data.sounds.load(TONE, check_existing=True)\n"
    "speaker.keyframe_insert('location', frame=3); speaker.location.x = -6\n"
    "speaker.keyframe_insert('location', frame=8)\n"
)
#: Scenes of one file, by name.
CASES = {
    "ffv1": "movie('MKV', 'FFV1')\n" + _GRADE,
    "ffv1 with alpha": "movie('MKV', 'FFV1', mode='RGBA'); r.film_transparent = True\n" + _GRADE,
    "ffv1 on black": "movie('MKV', 'FFV1'); r.film_transparent = True\n" + _GRADE,
    "ffv1 grey": "movie('MKV', 'FFV1', mode='BW')\n" + _GRADE,
    "ffv1 12 bit grey": "movie('MKV', 'FFV1', '12', 'BW')\n" + _GRADE,
    "ffv1 16 bit with alpha": "movie('MKV', 'FFV1', '16', 'RGBA'); r.film_transparent = True\n" + _GRADE,
    "huffyuv": "movie('AVI', 'HUFFYUV', mode='RGBA')\n",
    "png": "movie('MKV', 'PNG', mode='RGBA'); r.film_transparent = True\n",
    "quicktime rle": "movie('QUICKTIME', 'QTRLE', mode='RGBA'); r.film_transparent = True\n",
    "h264": "movie('MPEG4', 'H264'); f.audio_codec = 'AAC'; r.fps, r.fps_base = 30, 1.001\n" + _TONE,
    "h264 lossless": "movie('MKV', 'H264'); f.constant_rate_factor = 'LOSSLESS'\n",
    "h264 10 bit": (
        "movie('MKV', 'H264', '10'); i.color_management = 'OVERRIDE'\n"
        "i.view_settings.view_transform = 'Filmic'; i.view_settings.exposure = 1\n"
    ),
    "h265 hdr": (
        "movie('MPEG4', 'H265', '10'); s.display_settings.display_device = 'Rec.2100-PQ'\n"
        "s.view_settings.view_transform = 'AgX - HDR 1000 nits'\n"
    ),
    "prores 4444": (
        "f.format, f.codec, f.ffmpeg_prores_profile = 'QUICKTIME', 'PRORES', '4444'\n"
        "i.color_depth, i.color_mode, r.film_transparent = '10', 'RGBA', True\n"
    ),
    "vp9": "movie('WEBM', 'WEBM', mode='RGBA'); r.film_transparent = True\n",
    "av1": "movie('MKV', 'AV1', '10'); r.resolution_x, r.resolution_y = 256, 144\n",
    "theora": "movie('OGG', 'THEORA'); f.audio_codec = 'VORBIS'\n" + _TONE,
    "mpeg-1": "movie('MPEG1', 'MPEG1')\n",
    "region": (
        "movie('MPEG4', 'H264'); r.use_border = r.use_crop_to_border = True; r.pixel_aspect_x = 1.5\n"
        "r.border_min_x, r.border_max_x, r.border_max_y = 0.0, 0.5, 0.5; r.filepath = '//clip.mp4'\n"
    ),
    "stamp": (
        "movie('MKV', 'FFV1'); r.use_stamp = r.use_stamp_frame = r.use_stamp_scene = True\n"
        "r.use_stamp_date = r.use_stamp_render_time = r.use_stamp_memory = r.use_stamp_hostname = False\n"
    ),
    "speaker": "movie('MKV', 'FFV1'); f.audio_codec = 'PCM'\n" + _SPEAKER,
    "sequencer off": "movie('MKV', 'FFV1'); f.audio_codec = 'PCM'; r.use_sequencer = False\n"
    + _TONE
    + _SPEAKER,
    "odd": "movie('MPEG4', 'H264'); r.resolution_x = 63; r.filepath = '//../../../etc/clip_####'\n",
    "wrong container": "movie('WEBM', 'H264'); f.audio_codec = 'AAC'\n",
    "no such name": "movie('MKV', 'FFV1'); r.filepath = '//{nonsense}_'\n",
    "two views": (
        "movie('MKV', 'FFV1'); r.use_multiview = True\ns.camera.data.stereo.interocular_distance = 2\n"
    ),
    "views in one": "movie('MKV', 'FFV1'); r.use_multiview = True; i.views_format = 'STEREO_3D'\n",
    "climbing": "movie('MKV', 'FFV1'); r.filepath = '//../../../etc/clip_####'\n",
    "strips": (
        "movie('MKV', 'FFV1'); f.audio_codec = 'PCM'\n"
        + _TONE
        + "colour = editor.strips.new_effect('Colour', "
        "'COLOR', 4, 1, length=20); colour.color = (0.2, 0.7, 0.4)\n"
        "colour.blend_alpha = 0.5; colour.keyframe_insert('blend_alpha', frame=3)\n"
        "colour.blend_alpha = 1.0; colour.keyframe_insert('blend_alpha', frame=8)\n"
    ),
}


@pytest.fixture(scope="module")
def scenes(build: Build, tone: Path) -> Path:
    """One file with a scene for each of `CASES`."""
    code = {name: f"TONE = {str(tone)!r}\n{_AS}{text}" for name, text in CASES.items()}
    return build(variants=code, output="//renders/shot_", **SMALL)


@pytest.fixture(scope="module")
def renderer(scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RenderProcess]:
    with RenderProcess(tmp_path_factory.mktemp("renderer") / "log.txt") as child:
        child.done(Open(str(scenes)))
        yield child


@pytest.fixture(scope="module")
def encoder(scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RenderProcess]:
    with RenderProcess(tmp_path_factory.mktemp("encoder") / "log.txt") as child:
        child.done(Open(str(scenes)))
        yield child


def rendered(child: RenderProcess, out: Path, frames: list[int], **rest: Any) -> list[str]:
    """The farm's pictures of ``frames``."""
    found = []
    for frame in frames:
        done = child.done(
            RenderFrame(look(frame, **rest), str(out), str(out.parent / f"preview-{frame}.jpg"))
        )
        [name] = done.outputs
        found.append(str(out / name))
    return found


def listing(out: Path, frames: list[int], pictures: list[str]) -> str:
    """The file, beside ``out``, that names the pictures of a movie to the child."""
    path = out.with_suffix(".json")
    path.write_text(json.dumps({"frames": frames, "pictures": pictures}), encoding="utf-8")
    return str(path)


def encoded(child: RenderProcess, out: Path, frames: list[int], pictures: list[str], **rest: Any) -> Path:
    out.mkdir(exist_ok=True)
    preview = rest.pop("preview", False)
    done = child.done(EncodeVideo(look(frames[0], **rest), listing(out, frames, pictures), str(out), preview))
    [name] = done.outputs
    assert [path.name for path in out.iterdir()] == [name]
    return out / name


REFUSED = {
    "odd": ("width not divisible by 2 (63x36)", "even"),
    "wrong container": ("unsupported codec combination", "go together"),
    "no such name": ("Parse errors in path", "go together"),
}


@pytest.mark.parametrize("name", [name for name in CASES if name not in (*REFUSED, "two views")])
def test_the_movie_is_the_one_that_blender_itself_writes(
    scenes: Path, renderer: RenderProcess, encoder: RenderProcess, direct: Direct, tmp_path: Path, name: str
) -> None:
    pictures = rendered(renderer, tmp_path / "frames", FRAMES, scene=name)
    ours = encoded(encoder, tmp_path / "movie", FRAMES, pictures, scene=name)
    [theirs] = direct(scenes, name, FIRST, LAST).iterdir()
    assert ours.name == theirs.name
    movie = read_movie(ours)
    assert len(movie.frames) == len(FRAMES)
    assert len(set(movie.frames)) == len(FRAMES)  # something moves
    assert movie == read_movie(theirs)


@pytest.mark.parametrize("name", REFUSED)
def test_settings_that_blender_cannot_encode_are_told_with_a_cure(
    renderer: RenderProcess, encoder: RenderProcess, tmp_path: Path, name: str
) -> None:
    frames = FRAMES[:2]
    pictures = rendered(renderer, tmp_path / "frames", frames, scene=name if name == "odd" else "ffv1")
    out = tmp_path / "movie"
    out.mkdir()
    failed = encoder.failed(EncodeVideo(look(3, scene=name), listing(out, frames, pictures), str(out)))
    what, cure = REFUSED[name]
    assert failed.cause == "bad-scene"
    assert failed.what.startswith("Blender cannot encode the movie: ")
    assert what in failed.what
    assert str(tmp_path) not in failed.what
    assert cure in failed.cure


def test_a_scene_whose_output_is_no_movie_has_none(start: Start, build: Build, tmp_path: Path) -> None:
    child = start(build(**{**SMALL, "file_format": "PNG"}))
    pictures = rendered(child, tmp_path / "frames", [3])
    out = tmp_path / "movie"
    out.mkdir()
    failed = child.failed(EncodeVideo(look(3), listing(out, [3], pictures), str(out)))
    assert (failed.cause, failed.what) == ("bad-scene", "The output of the scene “Scene” is no movie.")


def test_nothing_is_written_outside(
    scenes: Path, renderer: RenderProcess, encoder: RenderProcess, tmp_path: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in scenes.parent.rglob("*")}
    pictures = rendered(renderer, tmp_path / "frames", FRAMES[:2], scene="climbing")
    movie = encoded(encoder, tmp_path / "movie", FRAMES[:2], pictures, scene="climbing")
    assert movie == tmp_path / "movie" / "clip_0003-0004.mkv"
    assert {path: path.stat().st_mtime_ns for path in scenes.parent.rglob("*")} == before


@pytest.mark.parametrize("frames", [[3, 5, 7], [3, 4, 8]])
def test_frames_with_gaps_follow_each_other_without_sound(
    scenes: Path,
    renderer: RenderProcess,
    encoder: RenderProcess,
    direct: Direct,
    tmp_path: Path,
    frames: list[int],
) -> None:
    pictures = rendered(renderer, tmp_path / "frames", frames, scene="speaker")
    out = tmp_path / "movie"
    out.mkdir()
    request = EncodeVideo(look(3, scene="speaker"), listing(out, frames, pictures), str(out))
    done = encoder.done(request)
    assert done.outputs == [f"shot_0003-{frames[-1]:04d}.mkv"]
    assert done.notes == [
        "The job leaves out frames: the movie shows those that it has one after another, without sound."
    ]
    ours = read_movie(tmp_path / "movie" / done.outputs[0])
    [path] = direct(scenes, "speaker", FIRST, LAST).iterdir()
    theirs = read_movie(path)
    assert ours.frames == tuple(theirs.frames[frame - FIRST] for frame in frames)
    assert theirs.sound is not None
    assert ours.sound is None


def test_each_view_makes_the_movie_that_blender_makes_of_it(
    scenes: Path, renderer: RenderProcess, encoder: RenderProcess, direct: Direct, tmp_path: Path
) -> None:
    out = tmp_path / "frames"
    for frame in FRAMES:
        request = RenderFrame(look(frame, scene="two views"), str(out), str(tmp_path / "preview.jpg"))
        assert len(renderer.done(request).outputs) == 2
    theirs = {path.name: read_movie(path) for path in direct(scenes, "two views", FIRST, LAST).iterdir()}
    assert theirs.keys() == {"shot_0003-0008_L.mkv", "shot_0003-0008_R.mkv"}
    for view in ("_L", "_R"):
        pictures = [str(out / f"shot_{frame:04d}{view}.png") for frame in FRAMES]
        ours = encoded(encoder, tmp_path / view, FRAMES, pictures, scene="two views")
        assert ours.name == "shot_0003-0008.mkv"  # the worker adds the view
        assert read_movie(ours) == theirs[f"shot_0003-0008{view}.mkv"]
    assert theirs["shot_0003-0008_L.mkv"].frames != theirs["shot_0003-0008_R.mkv"].frames


def test_it_is_told_how_many_frames_are_written(
    renderer: RenderProcess, encoder: RenderProcess, tmp_path: Path
) -> None:
    pictures = rendered(renderer, tmp_path / "frames", FRAMES, scene="png")
    encoder.counts.clear()
    encoded(encoder, tmp_path / "movie", FRAMES, pictures, scene="png")
    assert encoder.counts[0] == Count("encoding", 0, 6)
    assert encoder.counts[-1] == Count("encoding", 6, 6)


def test_the_scene_is_as_before_and_a_second_movie_as_the_first(
    renderer: RenderProcess, encoder: RenderProcess, tmp_path: Path
) -> None:
    pictures = rendered(renderer, tmp_path / "frames", FRAMES, scene="strips")
    first, second = (
        read_movie(encoded(encoder, tmp_path / folder, FRAMES, pictures, scene="strips")) for folder in "ab"
    )
    assert first == second
    drawn = rendered(encoder, tmp_path / "again", FRAMES, scene="strips")  # by the scene's own strips
    assert [Path(path).read_bytes()[-500:] for path in drawn] == [
        Path(path).read_bytes()[-500:] for path in pictures
    ]


@pytest.mark.parametrize("size", [(64, 36), (61, 35)])
def test_a_preview_movie_is_h264_that_browsers_play(
    encoder: RenderProcess, tmp_path: Path, size: tuple[int, int]
) -> None:
    ramp = np.linspace(0, 255, size[0] * size[1]).reshape(size[1], size[0])
    shades = [np.stack((ramp, 255 - ramp, np.full_like(ramp, 40 * at)), axis=-1) for at in range(6)]
    pictures = [str(tmp_path / f"{at}.jpg") for at in range(6)]
    for path, pixels in zip(pictures, shades, strict=True):
        Image.fromarray(pixels.astype(np.uint8)).save(path, quality=95)
    # The scene's own view, size, sound and rate: only the rate counts.
    movie = encoded(encoder, tmp_path / "movie", [1, 2, 9, 10, 11, 12], pictures, scene="h264", preview=True)
    assert movie.name == "preview.mp4"
    read = read_movie(movie)
    assert (read.codec, read.pixels, read.sound) == ("h264", "yuv420p", None)
    assert (read.width, read.height) == (size[0] // 2 * 2, size[1] // 2 * 2)
    assert read.rate is not None
    assert abs(float(read.rate) - 30 / 1.001) < 0.001
    assert len(read.frames) == 6
    for (luma, *_), pixels in zip(read.frames, shades, strict=True):
        rows = np.frombuffer(luma, np.uint8).reshape(read.height, -1)[:, : read.width].astype(float)
        even = Image.fromarray(pixels.astype(np.uint8)).resize(
            (read.width, read.height), Image.Resampling.BILINEAR
        )
        wanted = 16 + 219 / 255 * (np.asarray(even) @ (0.2126, 0.7152, 0.0722))
        assert np.abs(rows - wanted).mean() < 6


def failure(child: RenderProcess, tmp_path: Path, pictures: list[str], scene: str = "ffv1") -> Failed:
    out = tmp_path / "movie"
    out.mkdir()
    frames = FRAMES[: len(pictures)]
    return child.failed(EncodeVideo(look(3, scene=scene), listing(out, frames, pictures), str(out)))


def test_a_movie_may_have_more_pictures_than_a_line_to_the_child_has_room_for(
    encoder: RenderProcess, tmp_path: Path
) -> None:
    frames = list(range(1, 120_001))
    out = tmp_path / "movie"
    out.mkdir()
    listed = listing(out, frames, [str(tmp_path / f"{frame:07d}.png") for frame in frames])
    assert Path(listed).stat().st_size > MAX_LINE
    failed = encoder.failed(EncodeVideo(look(3, scene="ffv1"), listed, str(out)))
    assert failed.cause == "bad-result", "the first of them is not there, and that is all"


def test_a_missing_picture_is_no_black_one(
    renderer: RenderProcess, encoder: RenderProcess, tmp_path: Path
) -> None:
    pictures = rendered(renderer, tmp_path / "frames", FRAMES[:3], scene="ffv1")
    Path(pictures[1]).unlink()
    failed = failure(encoder, tmp_path, pictures)
    assert (failed.cause, failed.what) == (
        "bad-result",
        "A picture of the movie, “shot_0004.png”, is not there.",
    )


def test_what_is_no_picture_is_told(encoder: RenderProcess, tmp_path: Path) -> None:
    (tmp_path / "3.png").write_bytes(b"no picture at all")
    failed = failure(encoder, tmp_path, [str(tmp_path / "3.png")])
    assert (failed.cause, failed.what) == ("bad-result", "A picture of the movie, “3.png”, is damaged.")


def test_a_movie_that_could_not_be_written_to_its_end_is_none(
    start: Start, scenes: Path, tmp_path: Path
) -> None:
    """Blender tells nobody when a frame does not fit: the movie is read back."""
    child = start(scenes)
    pictures = rendered(child, tmp_path / "frames", FRAMES, scene="quicktime rle")
    resource.prlimit(child.child.pid, resource.RLIMIT_FSIZE, (4_000, 4_000))
    failed = failure(child, tmp_path, pictures, "quicktime rle")
    assert failed.cause == "bad-result"
    assert failed.what.startswith("The movie should have 6 frames, and ")
