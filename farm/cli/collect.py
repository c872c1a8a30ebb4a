"""Outputs of finished frames, and movies, brought into the artist's folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from farm.client.client import FarmClient
from farm.client.delivery import destination
from farm.domain.errors import BadInput, Conflict
from farm.domain.views import FrameView, JobView, OutputView
from farm.domain.work import Role

_WANTED = frozenset({Role.OUTPUT, Role.EXR})


@dataclass(slots=True)
class Files:
    """Files brought to this machine."""

    outputs: list[dict[str, str | int]] = field(default_factory=list)  # path, bytes, sha256
    kept: list[Path] = field(default_factory=list)  # other files that were in the way, left as they were

    @property
    def names(self) -> str:
        """What was brought, for people."""
        return ", ".join(str(output["path"]) for output in self.outputs)


@dataclass(slots=True, kw_only=True)
class Delivered(Files):
    """A frame's files on this machine."""

    frame: int
    seconds: float | None

    def as_json(self) -> dict[str, object]:
        seconds = None if self.seconds is None else round(self.seconds, 3)
        return {"frame": self.frame, "seconds": seconds, "outputs": self.outputs}


class Collector:
    """Fetches frames into ``folder``, each file whole and verified or not at all."""

    def __init__(self, client: FarmClient, folder: Path, overwrite: bool) -> None:
        self._client, self.folder, self._overwrite = client, folder, overwrite

    def fetch(self, frame: FrameView) -> Delivered:
        """Bring what ``frame`` made; files in the way stay, and are named in the answer."""
        got = Delivered(frame=frame.frame, seconds=frame.seconds)
        self._bring([output for output in frame.outputs if output.role in _WANTED], got)
        return got

    def movies(self, job: JobView) -> Files:
        """Bring the movies of ``job``, as `fetch` does a frame's files."""
        got = Files()
        self._bring(job.videos, got)
        return got

    def _bring(self, outputs: Iterable[OutputView], got: Files) -> None:
        for output in outputs:
            path = destination(self.folder, output)
            try:
                self._client.download(output, path, overwrite=self._overwrite)
            except Conflict:
                got.kept.append(path)
            else:
                got.outputs.append({"path": str(path), "bytes": output.bytes, "sha256": output.sha256})


def check_folder(folder: Path) -> None:
    """Raise `BadInput` early where nothing could be written to ``folder``."""
    near = folder.absolute()
    while not near.exists() and near != near.parent:
        near = near.parent
    if not near.is_dir():
        raise BadInput(f"“{near}” is a file, not a folder.", "Choose another folder with --out.")
    if not os.access(near, os.W_OK):
        raise BadInput(f"“{near}” cannot be written.", "Choose another folder with --out.")
