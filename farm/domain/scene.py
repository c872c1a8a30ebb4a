"""A scene as the farm knows it: the manifest of its files, and what Blender said about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from farm.domain.frames import FrameRange
from farm.domain.tiles import Size

SHA256_PATTERN = r"^[0-9a-f]{64}$"


class Value(BaseModel):
    """Base of the frozen values that cross the wire; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @cached_property
    def plain(self) -> dict[str, Any]:
        """This as plain JSON values, made once: not to be changed. For what is sent again and again."""
        return self.model_dump(mode="json")

    @cached_property
    def text(self) -> str:
        """This as JSON, made once: for what is written again and again."""
        return self.model_dump_json()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values; what was computed from the old ones and kept is computed anew."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


class Blob(Value):
    """Bytes by their hash."""

    sha256: str = Field(pattern=SHA256_PATTERN)
    bytes: int = Field(ge=0)


class SceneManifest(Value):
    """The files of a scene, by path relative to a common root; `main` is the .blend to open.

    Paths are POSIX, relative and never climb: a manifest that points outside is refused.
    """

    main: str
    files: dict[str, Blob]

    @field_validator("files")
    @classmethod
    def _inside(cls, files: dict[str, Blob]) -> dict[str, Blob]:
        for name in files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name or "\\" in name:
                raise ValueError(f"“{name}” points outside of the scene's folder")
            if str(path) != name:  # a/./b, a//b and a/b would be one file with three names
                raise ValueError(f"“{name}” should be written “{path}”")
            for parent in path.parents[:-1]:
                if str(parent) in files:
                    raise ValueError(f"“{parent}” is both a file and the folder of “{name}”")
        return files

    @model_validator(mode="after")
    def _main_is_there(self) -> SceneManifest:
        if self.main not in self.files:
            raise ValueError(f"the manifest does not list its own scene, “{self.main}”")
        return self

    @property
    def scene_id(self) -> str:
        """SHA-256 of the canonical manifest: the same files at the same paths are the same scene."""
        canonical = json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def bytes(self) -> int:
        return sum(blob.bytes for blob in self.files.values())


class Weight(StrEnum):
    """How much a finding matters: an error stops the job, a warning may spoil pictures."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(Value):
    """Something the inspection found, with its cure. `code` is stable, for machines and tests."""

    code: str
    weight: Weight
    what: str
    cure: str = ""


class LayerReport(Value):
    """A view layer that renders, and the names of its passes as Blender writes them."""

    name: str
    passes: tuple[str, ...] = ()


class SceneReport(Value):
    """What the inspection of a scene found. Sizes are pixels after the scene's own percentage."""

    scene: str
    scenes: tuple[str, ...]
    camera: str | None
    cameras: tuple[str, ...]
    marker_cameras: dict[int, str] = {}
    frame_start: int
    frame_end: int
    frame_step: int = 1
    fps: float = 24.0
    full_width: int  # before the percentage
    full_height: int
    percentage: int
    engine: str
    samples: int
    adaptive: bool = False
    denoise: bool = False
    layers: tuple[LayerReport, ...] = ()
    views: tuple[str, ...] = ()  # multi-view suffixes, empty for mono
    #: The scene's render region, Blender's border fractions (min_x, max_x, min_y, max_y), y up; None: all.
    border: tuple[float, float, float, float] | None = None
    crops: bool = False  # the region alone makes the picture; else it lies in a frame of full size
    file_format: str  # Blender's enum: PNG, JPEG, OPEN_EXR, OPEN_EXR_MULTILAYER, FFMPEG …; "" if unknown
    movie: bool = False
    output_name: str = ""  # last component of the scene's output path, as `shot_####`
    compositor: bool = False
    file_output_nodes: int = 0
    sequencer: bool = False
    blocks_cutting: tuple[Finding, ...] = ()  # why a frame of this scene must stay whole
    breaks_exactness: tuple[Finding, ...] = ()  # why a frame cut into tiles may differ
    overlap: int = Field(default=0, ge=0, le=512)  # pixels that tiles of this scene need besides
    #: Side of the tiles in which Cycles itself renders a picture that is larger than one of them, and pixels
    #: beyond its edge that each sees. Told where they show in the picture; else both are 0.
    inner_side: int = Field(default=0, ge=0, le=8192)
    inner_margin: int = Field(default=0, ge=0, le=64)
    breaks_ranges: tuple[Finding, ...] = ()  # why a frame cut by samples may differ by more than rounding
    in_order: tuple[Finding, ...] = ()  # what makes a frame depend on those before it
    findings: tuple[Finding, ...] = ()
    file_version: str = ""  # of the Blender that saved it
    blender: str = ""  # of the Blender that read it
    load_seconds: float = 0.0

    @property
    def frames(self) -> FrameRange:
        return FrameRange.of(self.frame_start, self.frame_end, self.frame_step)

    def size(self, percentage: int | None = None) -> Size:
        """Pixels of a frame, floored as Blender floors them; ``percentage`` overrides the scene's."""
        share = self.percentage if percentage is None else percentage
        return Size(self.full_width * share // 100, self.full_height * share // 100)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(found for found in self.findings if found.weight is Weight.ERROR)
