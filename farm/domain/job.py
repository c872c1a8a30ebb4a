"""A job: a request to render frames of a scene with given settings."""

from __future__ import annotations

import re
import secrets
from enum import StrEnum

from pydantic import Field, field_validator, model_validator

from farm.domain.control import Control
from farm.domain.errors import UsageError
from farm.domain.frames import FrameRange
from farm.domain.scene import SHA256_PATTERN, Value
from farm.domain.tiles import TileGrid

_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"  # nothing that reads as something else


def new_id(length: int = 8) -> str:
    """A short name that people can read to each other; 30^8 of them."""
    drawn = secrets.randbelow(len(_ALPHABET) ** length)  # at once: attempts are named by the thousand
    letters = []
    for _ in range(length):
        drawn, letter = divmod(drawn, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)


class Device(StrEnum):
    """What renders. `auto` is the best that the worker has; nothing else ever falls back."""

    AUTO = "auto"
    OPTIX = "optix"
    CUDA = "cuda"
    CPU = "cpu"


class Engine(StrEnum):
    """`scene` renders with what the file asks for; `cycles` forces Cycles on a file of another engine."""

    SCENE = "scene"
    CYCLES = "cycles"


class RenderSettings(Value):
    """What the artist asks for on top of the scene's own settings; None leaves the scene's."""

    frames: str | None = None
    tiles: str = "auto"
    samples: int | None = Field(default=None, ge=1, le=1 << 24)
    scale: int | None = Field(default=None, ge=1, le=1000)  # resolution percentage
    scene: str | None = None
    camera: str | None = None
    device: Device = Device.AUTO
    engine: Engine = Engine.SCENE
    keep_exr: bool = False
    split: str = "tiles"  # or "samples" (one range a worker), or "samples:4"
    first: int | None = Field(default=None, ge=1, le=1 << 24)  # only so many of the samples, for now
    video: bool = False  # also make a preview movie

    @field_validator("split")
    @classmethod
    def _split(cls, text: str) -> str:
        found = re.fullmatch(r"tiles|samples(?::([0-9]{1,4}))?", text)
        if not found or found[1] in ("0", "00", "000", "0000"):
            raise UsageError(f"“{text}” is not a way to cut frames.", "Write tiles, samples, or samples:4.")
        return text

    @model_validator(mode="after")
    def _go_together(self) -> RenderSettings:
        in_tiles = self.grid is not None and len(self.grid) > 1
        if in_tiles and self.by_samples:
            raise UsageError(
                f"A frame is cut into {self.tiles} tiles or into sample ranges, not both.",
                "Leave out --tiles, or --split.",
            )
        if in_tiles and self.first is not None:
            raise UsageError(
                f"The first {self.first} samples cannot be kept of frames cut into {self.tiles} tiles.",
                "Leave out --tiles, or --first.",
            )
        if self.first is not None and self.samples is not None and self.first >= self.samples:
            raise UsageError(
                f"The first {self.first} of {self.samples} samples are all of them.",
                "Write a smaller --first, or leave it out.",
            )
        return self

    @property
    def by_samples(self) -> bool:
        """Whether frames are cut by their samples."""
        return self.split != "tiles"

    @property
    def ranges(self) -> int | None:
        """How many sample ranges were asked for; None where the farm decides."""
        return int(self.split.partition(":")[2]) if ":" in self.split else None

    @field_validator("frames")
    @classmethod
    def _frames(cls, text: str | None) -> str | None:
        return None if text is None else str(FrameRange.parse(text))

    @field_validator("tiles")
    @classmethod
    def _tiles(cls, text: str) -> str:
        return text if text in ("auto", "none") else str(TileGrid.parse(text))

    @property
    def grid(self) -> TileGrid | None:
        """The grid asked for by size; None for ``auto`` and ``none``."""
        return None if self.tiles in ("auto", "none") else TileGrid.parse(self.tiles)


def keeps_pieces(settings: RenderSettings, adds_to: str | None) -> bool:
    """Whether the pieces of a job outlive its frames, so that samples can be added to them.

    They do where only some of the samples were asked for, and where the job itself adds to another.
    """
    return settings.first is not None or adds_to is not None


class JobSpec(Value):
    """What a client posts. The name is one line: control characters in it become spaces."""

    name: str = Field(min_length=1, max_length=200)
    scene_id: str = Field(pattern=SHA256_PATTERN)
    settings: RenderSettings = RenderSettings()
    control: Control = Control()
    #: Another job, whose frames this one proves: each is rendered whole by plain Blender and compared.
    proves: str | None = Field(default=None, max_length=40)
    #: Another job, whose samples this one keeps and adds to.
    adds_to: str | None = Field(default=None, max_length=40)

    @field_validator("name", mode="before")
    @classmethod
    def _one_line(cls, name: object) -> object:
        """File names may hold line breaks and worse; lists, terminals and PostgreSQL may not."""
        return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", name).strip() if isinstance(name, str) else name


class Principal(Value):
    """Who asks. Every service call carries one."""

    user_id: str
    name: str


#: The one user of an embedded farm.
LOCAL_OWNER = Principal(user_id="local", name="local")
