"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from farm.cli.wishes import asked_control
from farm.domain.job import Device, Engine, RenderSettings

FarmUrl = Annotated[
    str | None,
    typer.Option(
        "--farm",
        metavar="URL",
        envvar="FARM_URL",
        help="The farm to speak to. Without it: the one that runs on this machine.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The job's id, as `farm jobs` lists it.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that are there already. Otherwise they stay.")
]

Scene = Annotated[Path, typer.Argument(metavar="SCENE.blend", help="The scene to render.")]
Frames = Annotated[
    str | None,
    typer.Option(metavar="RANGE", help="Frames, such as 7, 1-10, 1-10x2,15. Without it: the scene's own."),
]
Tiles = Annotated[
    str,
    typer.Option(
        metavar="GRID",
        help="How to cut each frame: columns x rows such as 2x2, none, or auto (cut where it pays).",
    ),
]
Split = Annotated[
    str,
    typer.Option(
        metavar="tiles|samples|samples:N",
        help="Cut frames by area, or by samples: into one range a worker, or into N.",
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(min=1, max=1 << 24, metavar="N", help="Samples a pixel. Without it: the scene's own."),
]
First = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1 << 24,
        metavar="N",
        help="Render only so many of the samples now; `farm rerender` adds the others.",
    ),
]
Scale = Annotated[
    int | None,
    typer.Option(
        min=1, max=1000, metavar="PERCENT", help="Size of the picture, in percent of the full size."
    ),
]
SceneName = Annotated[
    str | None,
    typer.Option("--scene", metavar="NAME", help="Scene in the file. Without it: the active one."),
]
Camera = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Camera. Without it: the scene's own, with its markers."),
]
DeviceName = Annotated[
    Device,
    typer.Option(help="What renders. Only auto chooses by itself; the others never fall back."),
]
EngineName = Annotated[
    Engine, typer.Option(help="The engine that the scene asks for, or Cycles whatever it asks for.")
]
KeepExr = Annotated[
    bool, typer.Option("--keep-exr", help="Also keep each frame's passes as a 32-bit multilayer EXR.")
]
Video = Annotated[bool, typer.Option("--video", help="Also make a preview movie of the frames (H.264).")]


def _settings(
    frames: Frames = None,
    tiles: Tiles = "auto",
    split: Split = "tiles",
    samples: Samples = None,
    first: First = None,
    scale: Scale = None,
    scene: SceneName = None,
    camera: Camera = None,
    device: DeviceName = Device.AUTO,
    engine: EngineName = Engine.SCENE,
    keep_exr: KeepExr = False,
    video: Video = False,
) -> RenderSettings:
    """The options as one value; raises `UsageError` for what cannot be read or does not go together."""
    return RenderSettings(
        frames=frames,
        tiles=tiles,
        split=split,
        samples=samples,
        first=first,
        scale=scale,
        scene=scene,
        camera=camera,
        device=device,
        engine=engine,
        keep_exr=keep_exr,
        video=video,
    )


#: Parameters of commands that stand for several options, and what makes one value of these.
_SHARED: dict[str, Callable[..., Any]] = {"settings": _settings, "control": asked_control}


def takes_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command`` the options above, and hand them to it as one value, ``settings``; so ``control``.

    Typer reads a command's signature; here the parameters ``settings`` and ``control`` are replaced in it
    by those of what makes them, so that the options and their defaults are written once.
    """
    own = inspect.signature(command, eval_str=True).parameters
    options = {
        name: inspect.signature(make, eval_str=True).parameters
        for name, make in _SHARED.items()
        if name in own
    }

    @wraps(command)
    def taking(**given: Any) -> None:
        made = {}
        for name, parameters in options.items():
            made[name] = _SHARED[name](**{option: given.pop(option) for option in parameters})
        command(**made, **given)

    shown = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, one in own.items()
        for parameter in (options[name].values() if name in options else [one])
    ]
    taking.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    taking.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return taking
