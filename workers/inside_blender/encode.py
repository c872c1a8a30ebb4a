"""Encodes pictures into a movie with Blender's own writer: an image strip above all others feeds it.

Measured with bpy 5.2.3, packet for packet the movie of a direct render in every container and codec that
the wheel has, sound included:

- 8 bit: bytes of a strip in a space that is no colour go through sequencer and view transform untouched.
- 10, 12 and 16 bit: the writer takes floats behind the view transform. The pictures are scene-linear
  32-bit floats, and go through the scene's own view here, as in a direct render.
- A scene whose sequencer is off is silent, its speakers too, though the movie has a track of sound.

Nothing of the scene's 3D is evaluated. Some settings of a movie do not survive another format in between
(OGG and MPEG-1 turn into others), so this is done in a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import bpy

from workers.child import Refusal
from workers.inside_blender import look, paths
from workers.inside_blender.causes import BAD_RESULT, BAD_SCENE, DISK_FULL, INTERNAL
from workers.inside_blender.changes import Changes
from workers.inside_blender.session import Session
from workers.inside_blender.strips import place
from workers.inside_blender.written import Written
from workers.protocol import Done, EncodeVideo

PREVIEW = "preview.mp4"
_LEAST = 4  # pixels of a side that Blender renders
#: Containers that tell how many pictures they hold. Of streams of MPEG-1 and 2 the length is guessed.
_COUNTED = ("MPEG4", "MKV", "WEBM", "AVI", "OGG", "QUICKTIME")
_ROOM = 1 << 20  # bytes that a disk has left unless it is full
_CURE = "Choose a container, codec, size and rate that go together in the scene's output settings."


def encode_video(session: Session, request: EncodeVideo) -> Done:
    """Carry out an `EncodeVideo`; raises `Refusal`, bad-scene for settings that Blender cannot encode."""
    listed = json.loads(Path(request.listing).read_text(encoding="utf-8"))
    frames, pictures, count = listed["frames"], listed["pictures"], len(listed["frames"])
    if not frames or count != len(pictures) or sorted(set(frames)) != frames:
        raise Refusal(INTERNAL, "A movie needs one picture of each of its frames, in their order.")
    started = time.monotonic()
    with Changes() as changes:
        scene = look.scene_named(request.look.scene, session.scene)
        changes.set(bpy.context.window, "scene", scene)
        paths.map_outputs(changes, scene, request.out_dir)
        width, height, floats = _picture(pictures[0])
        _only_strips(changes, scene)
        if request.preview:
            _preview(changes, scene, f"{request.out_dir}/{PREVIEW}")
            width, height = _even(width), _even(height)
        elif not scene.render.is_movie_format:
            raise Refusal(BAD_SCENE, f"The output of the scene “{scene.name}” is no movie.")
        changes.set(scene.render, "resolution_x", width)
        changes.set(scene.render, "resolution_y", height)
        notes = _timeline(changes, scene, frames, request.out_dir)
        place(changes, scene, pictures, floats=floats)
        before = paths.snapshot(request.out_dir)
        with Written(session.send, count):
            _render(scene, request.out_dir)
        outputs = paths.written(request.out_dir, before)
        _check(scene, Path(request.out_dir), outputs, count)
        return Done(outputs=outputs, seconds={"save": time.monotonic() - started}, notes=notes)


def _picture(path: str) -> tuple[int, int, bool]:
    """Size of a picture in pixels, and whether it holds floats."""
    try:
        image = bpy.data.images.load(path)
    except RuntimeError as error:
        raise Refusal(BAD_RESULT, f"A picture of the movie, “{Path(path).name}”, cannot be read.") from error
    (width, height), floats = image.size, image.is_float
    bpy.data.images.remove(image)
    if not width or not height:
        raise Refusal(BAD_RESULT, f"A picture of the movie, “{Path(path).name}”, is damaged.")
    return width, height, floats


def _even(pixels: int) -> int:
    """What H.264 with colour at half the size takes: an odd side loses a pixel."""
    return max(_LEAST, pixels - pixels % 2)


def _only_strips(changes: Changes, scene: Any) -> None:
    """Let the sequencer make the picture, all of it, and nothing be done to the pictures a second time."""
    render = scene.render
    if not render.use_sequencer:
        changes.set(render.ffmpeg, "audio_volume", 0.0)
    changes.set(render, "use_sequencer", True)
    for name in ("use_compositing", "use_border", "use_multiview", "use_stamp"):
        changes.set(render, name, False)
    changes.set(render, "dither_intensity", 0.0)
    changes.set(render, "resolution_percentage", 100)
    changes.set_if_there(render, "save_output", True)


def _preview(changes: Changes, scene: Any, path: str) -> None:
    """H.264 that every browser plays: 8 bit, no sound. The pictures are in the space of a screen."""
    render, ffmpeg = scene.render, scene.render.ffmpeg
    settings = changes.lend_format(render.image_settings)
    if hasattr(settings, "media_type"):
        settings.media_type = "VIDEO"
    settings.file_format = "FFMPEG"
    for name, value in (
        ("format", "MPEG4"),
        ("codec", "H264"),
        ("constant_rate_factor", "MEDIUM"),
        ("ffmpeg_preset", "GOOD"),
        ("gopsize", 18),
        ("use_max_b_frames", False),
        ("use_autosplit", False),
        ("audio_codec", "NONE"),
    ):
        changes.set(ffmpeg, name, value)
    settings.color_mode, settings.color_depth = "RGB", "8"
    if hasattr(settings, "color_management"):
        settings.color_management = "FOLLOW_SCENE"
    changes.set(scene.display_settings, "display_device", "sRGB")
    changes.set(scene.view_settings, "view_transform", "Standard")
    changes.set(render, "filepath", path)
    changes.set(render, "use_file_extension", True)


def _timeline(changes: Changes, scene: Any, frames: list[int], out_dir: str) -> list[str]:
    """Have as many frames as there are pictures, from the first one's on; returns notes.

    With gaps, the movie is called as Blender calls that of all frames from the first to the last.
    """
    changes.undo(_range, scene, scene.frame_start, scene.frame_end)
    changes.set(scene, "frame_step", 1)
    first, last, gaps = frames[0], frames[-1], len(frames) - 1 != frames[-1] - frames[0]
    _range(scene, first, last)
    if not gaps:
        return []
    try:
        changes.set(scene.render, "filepath", scene.render.frame_path(frame=first))
    except RuntimeError as error:
        raise _refused(error, out_dir) from error
    _range(scene, first, first + len(frames) - 1)
    note = "The job leaves out frames: the movie shows those that it has one after another"
    if scene.render.ffmpeg.audio_codec == "NONE":
        return [f"{note}."]
    changes.set(scene.render.ffmpeg, "audio_codec", "NONE")
    return [f"{note}, without sound."]


def _range(scene: Any, start: int, end: int) -> None:
    scene.frame_start = start
    scene.frame_end = end


def _render(scene: Any, out_dir: str) -> None:
    try:
        state = bpy.ops.render.render(animation=True, scene=scene.name)
    except RuntimeError as error:
        raise _refused(error, out_dir) from error
    if "FINISHED" not in state:
        raise Refusal(BAD_RESULT, f"Blender ended the encoding without finishing it: {state}.")


def _refused(error: RuntimeError, out_dir: str) -> Refusal:
    text = str(error).strip().removeprefix("Error: ").split("\n")[0].rstrip(".:")
    text = text.replace(f"{os.path.realpath(out_dir)}/", "")
    cure = _CURE
    if "divisible by 2" in text:
        cure = "Choose a width and a height that are even, or a codec that takes odd ones, such as FFV1."
    return Refusal(BAD_SCENE, f"Blender cannot encode the movie: {text}.", cure)


def _check(scene: Any, out_dir: Path, outputs: list[str], count: int) -> None:
    """Read the movie back: what the disk has no room for, Blender leaves out without a word."""
    if not outputs:
        raise Refusal(BAD_RESULT, "Blender said that it encoded the movie, but wrote no file.")
    if scene.render.ffmpeg.codec == "NONE":  # sound alone
        return
    found = sum(_frames_of(str(out_dir / name)) for name in outputs)
    counted = scene.render.ffmpeg.format in _COUNTED
    if found >= (count - 1 if counted else 1):  # lengths are times, and rounded
        return
    if shutil.disk_usage(out_dir).free < _ROOM:
        raise Refusal(
            DISK_FULL,
            "The worker's disk is full: the movie could not be written to its end.",
            "Free some room in the worker's scratch folder.",
        )
    raise Refusal(
        BAD_RESULT,
        f"The movie should have {count} frames, and {found} can be read back.",
        "The log may say why. If the disk is full or slow, the next try goes better.",
    )


def _frames_of(path: str) -> int:
    try:
        clip = bpy.data.movieclips.load(path)
    except RuntimeError:
        return 0
    frames = int(clip.frame_duration)
    bpy.data.movieclips.remove(clip)
    return frames
