"""`farm submit`: as render, without waiting."""

from __future__ import annotations

from farm.assets.pack import pack
from farm.cli.connect import reached
from farm.cli.options import AsJson, FarmUrl, Scene, takes_settings
from farm.cli.progress import Display
from farm.cli.send import send
from farm.cli.speaker import Speaker
from farm.domain.job import RenderSettings


@takes_settings
def submit(
    scene_file: Scene,
    settings: RenderSettings,
    as_json: AsJson = False,
    farm: FarmUrl = None,
) -> None:
    """Send a scene to a running farm, without waiting for it.

    Prints the job's id. Watch it with `farm watch`, and bring its frames with `farm fetch`.

    \b
    Examples:
      farm submit shot.blend --frames 1-240
      job=$(farm submit shot.blend); farm watch "$job"

    With --json: job, state, scene (the hash that names the scene).
    """
    speaker = Speaker(as_json)
    packed = pack(scene_file)
    speaker.warn(packed.warnings)
    with reached(farm) as client:
        with Display(speaker) as display:
            spec = send(client, packed, scene_file, settings, display)
        job = client.submit(spec)
    if as_json:
        speaker.give({"job": job.id, "state": job.state.value, "scene": job.scene_id})
    speaker.say(job.id)
