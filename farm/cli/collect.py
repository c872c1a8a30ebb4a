"""Outputs of finished frames, brought into the artist's folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from farm.client.client import FarmClient
from farm.client.delivery import destination
from farm.domain.errors import BadInput, Conflict
from farm.domain.views import FrameView
from farm.domain.work import Role

_WANTED = frozenset({Role.OUTPUT, Role.EXR})


@dataclass(slots=True)
class Delivered:
    """A frame's files on this machine."""

    frame: int
    seconds: float | None
    outputs: list[dict[str, str | int]] = field(default_factory=list)  # path, bytes, sha256
    kept: list[Path] = field(default_factory=list)  # other files that were in the way, left as they were

    def as_json(self) -> dict[str, object]:
        seconds = None if self.seconds is None else round(self.seconds, 3)
        return {"frame": self.frame, "seconds": seconds, "outputs": self.outputs}


class Collector:
    """Fetches frames into ``folder``, each file whole and verified or not at all."""

    def __init__(self, client: FarmClient, folder: Path, overwrite: bool) -> None:
        self._client, self.folder, self._overwrite = client, folder, overwrite

    def fetch(self, frame: FrameView) -> Delivered:
        """Bring what ``frame`` made; files in the way stay, and are named in the answer."""
        got = Delivered(frame.frame, frame.seconds)
        for output in frame.outputs:
            if output.role not in _WANTED:
                continue
            path = destination(self.folder, output)
            try:
                self._client.download(output, path, overwrite=self._overwrite)
            except Conflict:
                got.kept.append(path)
            else:
                got.outputs.append({"path": str(path), "bytes": output.bytes, "sha256": output.sha256})
        return got


def check_folder(folder: Path) -> None:
    """Raise `BadInput` early where nothing could be written to ``folder``."""
    near = folder.absolute()
    while not near.exists() and near != near.parent:
        near = near.parent
    if not near.is_dir():
        raise BadInput(f"“{near}” is a file, not a folder.", "Choose another folder with --out.")
    if not os.access(near, os.W_OK):
        raise BadInput(f"“{near}” cannot be written.", "Choose another folder with --out.")
