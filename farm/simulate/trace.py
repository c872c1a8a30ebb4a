"""A trace: which jobs come when, of what cost, and what the fleet is like. A TOML file; for its format see
the classes, for examples the traces beside this.

Seconds are of a worker of speed 1. What a trace leaves open is drawn from a seed, so that a trace and a
seed are always the same work for the same fleet, whatever the policy.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from farm.domain.control import HIGHEST, LOWEST, NORMAL
from farm.domain.errors import BadInput, NotFound
from farm.domain.scene import Value
from farm.simulate.draw import Drawn

GB = 1_000_000_000


class Jobs(Value):
    """A group of jobs that are alike. What is drawn is drawn once a job, but for `spread` and `uneven`."""

    name: str = Field(pattern=r"^[a-z0-9]+$")
    user: str
    count: int = Field(default=1, ge=1)
    arrival: Drawn = 0.0  # seconds after the start
    priority: int = Field(default=NORMAL, ge=LOWEST, le=HIGHEST)
    frames: Drawn = 1
    load: Drawn = 10.0  # opening the scene, once a worker that comes to it
    sync: Drawn = 5.0  # of a frame, once a worker that renders some of it
    render: Drawn = 60.0  # of all pixels of a frame
    rest: Drawn = 2.0  # saving and storing, once a task
    finish: Drawn = 5.0  # of a frame that was cut
    spread: float = Field(default=0.0, ge=0)  # deviation of the logarithm of sync and render, by frame
    #: Deviation of the logarithm of the cost of a pixel, by regions of the picture: tiles of one size take
    #: that differently long.
    uneven: float = Field(default=0.0, ge=0)
    memory: Drawn = 4.0  # GB, of the GPU
    width: int = 1920
    height: int = 1080
    cut: bool = True  # whether a frame may be cut
    in_order: bool = False  # frames depend on those before
    workers: int | None = None  # so many at once, at most


class Kind(Value):
    """Workers that are alike: `share` of the fleet, counted in parts of the sum of all shares."""

    name: str
    share: float = Field(gt=0)
    speed: Drawn = 1.0  # of each, drawn once
    memory: float = 24.0  # GB
    price: float = 0.0  # an hour
    #: Until its owner takes it back, and until it is here again, in seconds: means of exponential
    #: distributions. 0: it stays.
    stays: float = 0.0
    away: float = 600.0
    broken: float = 0.0  # share of these workers under which half of all tries crash


class Failures(Value):
    """What goes wrong by itself: shares of all attempts."""

    crash: float = 0.0
    hang: float = 0.0
    lost: float = 0.0  # the worker dies, and is there again after a minute
    slow: float = 0.0  # the attempt is slowed …
    slow_by: Drawn = (2.0, 6.0)  # … so many times


class Trace(Value):
    """Jobs, and the fleet for them."""

    name: str
    about: str
    workers: int = Field(default=100, ge=1, le=100_000)
    jobs: tuple[Jobs, ...] = Field(min_length=1)
    fleet: tuple[Kind, ...] = (Kind(name="gpu", share=1),)
    failures: Failures = Failures()

    @field_validator("jobs")
    @classmethod
    def _named_once(cls, jobs: tuple[Jobs, ...]) -> tuple[Jobs, ...]:
        if len({group.name for group in jobs}) != len(jobs):
            raise ValueError("two groups of jobs have one name")
        return jobs


def mixes() -> list[str]:
    """The names of the traces that come with Tessera."""
    found = (Path(entry.name) for entry in files(__package__).joinpath("traces").iterdir())
    return sorted(path.stem for path in found if path.suffix == ".toml")


def mix(name: str) -> Trace:
    """A trace that comes with Tessera; raises `NotFound` for another name."""
    if name not in mixes():
        raise NotFound(f"There is no mix “{name}”.", f"There are: {', '.join(mixes())}.")
    text = files(__package__).joinpath("traces", f"{name}.toml").read_text(encoding="utf-8")
    return parse(text, name)


def read(path: Path) -> Trace:
    """The trace in a file; raises `NotFound` or `BadInput`, with the cure."""
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise NotFound(
            f"There is no trace “{path}”.", f"Those that come with it: {', '.join(mixes())}."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The trace “{path}” cannot be read: {error}.", "Name a TOML file.") from None


def parse(text: str, where: str) -> Trace:
    """A trace from TOML; raises `BadInput` that names the first thing that is wrong."""
    cure = "docs/scheduling.md tells how a trace is written."
    try:
        return Trace.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"The trace “{where}” is no TOML: {error}.", cure) from None
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"The trace “{where}” is wrong at “{at}”: {first['msg']}.", cure) from None
