"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
Samples = Annotated[
    int | None,
    typer.Option(min=1, max=1 << 24, metavar="N", help="Samples a pixel. Without it: the scene's own."),
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


def render_settings(
    frames: str | None,
    tiles: str,
    samples: int | None,
    scale: int | None,
    scene: str | None,
    camera: str | None,
    device: Device,
    engine: Engine,
    keep_exr: bool,
) -> RenderSettings:
    """The options as one value; raises `UsageError` for a range or grid that cannot be read."""
    return RenderSettings(
        frames=frames,
        tiles=tiles,
        samples=samples,
        scale=scale,
        scene=scene,
        camera=camera,
        device=device,
        engine=engine,
        keep_exr=keep_exr,
    )
