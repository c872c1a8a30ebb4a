"""Encode: make the movies of a job whose frames are done, with Blender's own writer."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

from farm.domain.plan import Video
from farm.domain.tiles import Size
from farm.domain.work import Cause, FramePicture, Result, Role
from workers import scene_folder
from workers.attempt import OURS, Attempt
from workers.failures import AttemptFailed
from workers.movies import check_movie
from workers.patiently import together
from workers.pictures import EXR, JPEG, PNG, kind_of, media_type, size_of
from workers.protocol import EncodeVideo, Look
from workers.steps.films import Film, films
from workers.steps.frame import ToStore

_AT_ONCE = 8  # downloads
_ENDINGS = {PNG: ".png", JPEG: ".jpg", EXR: ".exr"}


async def encode(attempt: Attempt) -> Result:
    """The movies that the plan asks for, one after another.

    A worker's disk holds all pictures of one movie at a time, and the movies: Blender's writer goes
    through them in one run. Raises `AttemptFailed`.
    """
    wanted = films(attempt.order)
    attempt.phase("fetching")
    with attempt.timed("fetch"):
        await attempt.session.lay_out()
    files: list[ToStore] = []
    for number, film in enumerate(wanted):
        folder = attempt.inputs / f"film-{number}"
        folder.mkdir()
        attempt.phase("fetching")
        with attempt.timed("fetch"):
            pictures = await _fetch(attempt, film, folder)
        files += await _encoded(attempt, film, pictures, f"movie-{number}")
        await asyncio.to_thread(scene_folder.remove, folder)
    _check_names(files)
    return attempt.result(await attempt.store(files))


async def _fetch(attempt: Attempt, film: Film, folder: Path) -> list[Path]:
    """The film's pictures, verified, whole and of one size, in order."""
    _check_room(folder, sum(picture.file.blob.bytes for picture in film.pictures))
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int, picture: FramePicture) -> Path:
        path, file = folder / f"{number:07d}", picture.file
        async with slots:
            await attempt.fetched(lambda: attempt.storage.get_file(file.key, path, file.blob))
        return path

    paths = await together(one(number, picture) for number, picture in enumerate(film.pictures))
    return await asyncio.to_thread(_checked, film, paths)


def _checked(film: Film, paths: list[Path]) -> list[Path]:
    """The pictures with the endings that they are due; raises `AttemptFailed` where they do not fit."""
    first = film.pictures[0]
    kind, size = kind_of(paths[0]), size_of(paths[0], first.file.name)
    checked = []
    for picture, path in zip(film.pictures, paths, strict=True):
        found, pixels = kind_of(path), size_of(path, picture.file.name)
        if (found, pixels) != (kind, size):
            raise AttemptFailed(
                Cause.BAD_RESULT,
                f"The movie cannot be made: frame {picture.frame} is {_words(found, pixels)}, "
                f"frame {first.frame} is {_words(kind, size)}.",
                "Render all frames again with the same settings.",
            )
        checked.append(path.rename(path.with_suffix(_ENDINGS[kind])))
    return checked


async def _encoded(attempt: Attempt, film: Film, pictures: list[Path], out: str) -> list[ToStore]:
    """What Blender made of the pictures: one file, or several where the scene splits its movies."""
    (attempt.work / out).mkdir()
    attempt.phase("loading")
    with attempt.timed("load"):
        child = await attempt.session.fresh(attempt.log)
    frames = [picture.frame for picture in film.pictures]
    listing = attempt.inputs / f"{out}.json"
    listed = {"frames": frames, "pictures": [str(path) for path in pictures]}
    await asyncio.to_thread(listing.write_text, json.dumps(listed), encoding="utf-8")
    attempt.phase("encoding")
    try:
        done = await child.ask(
            EncodeVideo(
                look=Look(frame=frames[0], device="CPU", scene=attempt.order.settings.scene),
                listing=str(listing),
                out_dir=str(attempt.work / out),
                preview=film.video is Video.PREVIEW,
            ),
            attempt.count,
        )
    finally:
        await attempt.session.release(child)
    attempt.heed(done)
    if not done.outputs:
        raise AttemptFailed(
            Cause.BAD_RESULT,
            "Blender finished the encoding but wrote no movie.",
            "See whether the scene's output settings are those of a movie.",
        )
    found: list[ToStore] = []
    for taken in await attempt.take(out, done.outputs):
        await asyncio.to_thread(check_movie, taken.path, taken.name)
        found.append((Role.VIDEO, film.named(taken.name), taken.path, media_type(taken.name)))
    return found


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise AttemptFailed(
            Cause.DISK_FULL,
            f"The pictures of the movie take {_gigabytes(needed)}; "
            f"the worker's disk has {_gigabytes(free)} free.",
            "Free some room in the worker's scratch folder, or give the worker a larger one.",
        )


def _words(kind: str, size: Size) -> str:
    return f"a {_ENDINGS[kind][1:].upper()} of {size} pixels"


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def _check_names(files: list[ToStore]) -> None:
    """Two movies must not be one file, and the farm's folder is its own."""
    names = [os.path.normcase(name) for _, name, _, _ in files]
    for name in names:
        if name.split("/")[0] == OURS or names.count(name) > 1:
            raise AttemptFailed(
                Cause.BAD_RESULT,
                f"The movie cannot be called “{name}”: that name is taken.",
                "Choose another output path in the scene.",
            )
