"""A scene on disk into something that can be submitted."""

from __future__ import annotations

from pathlib import Path

from farm.assets.pack import Packed
from farm.cli.progress import Display
from farm.cli.speaker import clean
from farm.client.client import FarmClient
from farm.domain.control import Control
from farm.domain.job import JobSpec, RenderSettings


def send(
    client: FarmClient,
    packed: Packed,
    blend: Path,
    settings: RenderSettings,
    control: Control,
    display: Display,
) -> JobSpec:
    """Upload what the farm lacks of the scene; the job to submit then. Raises `TesseraError`."""
    scene = client.upload_scene(packed.manifest, packed.root, display.sending, packed.elsewhere)
    name = clean(blend.stem)[:200].strip() or "scene"
    return JobSpec(name=name, scene_id=scene.scene_id, settings=settings, control=control)
