"""A job: a request to render frames of a scene with given settings."""

from __future__ import annotations

import re
import secrets
from enum import StrEnum

from pydantic import Field, field_validator

from farm.domain.frames import FrameRange
from farm.domain.scene import SHA256_PATTERN, Value
from farm.domain.tiles import TileGrid

_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"  # nothing that reads as something else


def new_id(length: int = 8) -> str:
    """A short name that people can read to each other; 30^8 of them."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


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


class JobSpec(Value):
    """What a client posts. The name is one line: control characters in it become spaces."""

    name: str = Field(min_length=1, max_length=200)
    scene_id: str = Field(pattern=SHA256_PATTERN)
    settings: RenderSettings = RenderSettings()

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
