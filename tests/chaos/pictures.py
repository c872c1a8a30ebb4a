"""What frames look like, as values; and the undisturbed frames that they are compared with."""

from __future__ import annotations

import hashlib
import tempfile
from importlib.metadata import version
from pathlib import Path

import av
import numpy as np
from PIL import Image

import scenes
from farm.client.client import FarmClient
from farm.domain.frames import FrameRange
from farm.domain.states import JobState
from farm.domain.views import OutputView
from farm.domain.work import Role
from tests.chaos.jobs import Errand, patiently, submit, until_ended

_PATIENCE = 300.0  # seconds for an undisturbed job

type Frames = dict[tuple[int, str], str]  # SHA-256 of decoded pixels, by frame and name


class References:
    """Undisturbed frames, rendered once for each picture and kept in a folder, by what decides them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def scene(self, name: str) -> Path:
        """The file of a sample scene."""
        path = self._folder / _fingerprint() / f"{name}.blend"
        if not path.exists():
            partial = scenes.build_file(name, path.with_name(f".{name}.blend"))
            partial.rename(path)
        return path

    def of(self, client: FarmClient, errand: Errand) -> Frames:
        """Frames of the errand as the farm renders them whole while nobody disturbs it."""
        [kind] = {worker.info.render_class for worker in patiently(client.farm).workers}
        name = hashlib.sha256(repr((errand.picture, errand.frames, kind)).encode()).hexdigest()[:16]
        path = self._folder / _fingerprint() / f"{name}.txt"
        if not path.exists():
            whole = Errand(errand.scene, errand.frames, errand.scale, errand.samples)
            job_id = submit(client, self.scene(errand.scene), whole, f"reference {name}")
            job = until_ended(client, job_id, _PATIENCE)
            if job.state is not JobState.DONE:
                raise RuntimeError(f"the undisturbed job {job_id} is {job.state}: {job.error}")
            found = frames_of(client, job_id)
            path.write_text("".join(f"{n} {digest} {at}\n" for (n, at), digest in found.items()))
        lines = (line.split(maxsplit=2) for line in path.read_text().splitlines())
        return {(int(number), name): digest for number, digest, name in lines}


def frames_of(client: FarmClient, job_id: str) -> Frames:
    """The pixels of all outputs of a job's frames, fetched as a user does, each verified on its way."""
    found: Frames = {}
    with tempfile.TemporaryDirectory() as folder:
        for frame in patiently(lambda: list(client.frames(job_id))):
            for output in frame.outputs:
                if output.role is Role.OUTPUT:
                    path = _fetched(client, output, Path(folder))
                    found[frame.frame, output.name] = _digest(np.asarray(Image.open(path)))
    return found


def differences(found: Frames, wanted: Frames) -> list[str]:
    """Sentences about frames that are not there, not wanted, or not the undisturbed ones."""
    told = [f"frame {number} has no “{name}”" for number, name in wanted.keys() - found.keys()]
    told += [f"frame {number} has “{name}” too" for number, name in found.keys() - wanted.keys()]
    common = sorted(wanted.keys() & found.keys())
    return told + [f"“{at[1]}” is not the undisturbed picture" for at in common if found[at] != wanted[at]]


def movie_faults(client: FarmClient, job_id: str, errand: Errand) -> list[str]:
    """What is wrong with the movie that was asked for: it has to have a picture of each frame."""
    videos = patiently(lambda: client.job(job_id)).videos
    if len(videos) != errand.video:
        return [f"{len(videos)} movies are there"]
    wanted, told = len(FrameRange.parse(errand.frames)), []
    for video in videos:
        with tempfile.TemporaryDirectory() as folder, av.open(_fetched(client, video, Path(folder))) as movie:
            pictures = sum(1 for _ in movie.decode(video=0))
        if pictures != wanted:
            told.append(f"the movie “{video.name}” has {pictures} pictures, not {wanted}")
    return told


def _fetched(client: FarmClient, output: OutputView, folder: Path) -> Path:
    path = folder / f"{output.id}{Path(output.name).suffix}"
    patiently(lambda: client.download(output, path, overwrite=True))
    return path


def _digest(pixels: np.ndarray) -> str:
    """Of an array of any shape and type, both of which count."""
    head = f"{pixels.shape} {pixels.dtype}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(pixels).tobytes()).hexdigest()


def _fingerprint() -> str:
    """Of what our scenes are built from, and of the Blender that renders them."""
    found = hashlib.sha256(version("bpy").encode())
    for script in sorted(Path(scenes.__file__).parent.glob("*.py")):
        found.update(script.read_bytes())
    return found.hexdigest()[:16]
