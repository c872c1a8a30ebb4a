"""`farm submit`: as render, without waiting."""

from __future__ import annotations

from farm.assets.pack import pack
from farm.cli.connect import reached
from farm.cli.options import AsJson, FarmUrl, Scene, takes_settings
from farm.cli.progress import Display
from farm.cli.send import send
from farm.cli.speaker import Speaker
from farm.domain.control import Control
from farm.domain.job import RenderSettings


@takes_settings
def submit(
    scene_file: Scene,
    settings: RenderSettings,
    control: Control,
    as_json: AsJson = False,
    farm: FarmUrl = None,
) -> None:
    """Send a scene to a running farm, without waiting for it.

    Prints the job's id. Watch it with `farm watch`, and bring its frames with `farm fetch`.

    \b
    Examples:
      farm submit shot.blend --frames 1-240
      job=$(farm submit shot.blend); farm watch "$job"
      farm submit shot.blend --priority 80 --start 22:00 --max-workers 4
      farm submit comp.blend --after "$job" --frame-wise

    With --json: job, state, scene (the hash that names the scene), notes (what was accepted and may
    surprise, such as needs that no worker meets now).
    """
    speaker = Speaker(as_json)
    packed = pack(scene_file)
    speaker.warn(packed.warnings)
    with reached(farm) as client:
        with Display(speaker) as display:
            spec = send(client, packed, scene_file, settings, control, display)
        job = client.submit(spec)
    if as_json:
        speaker.give({"job": job.id, "state": job.state.value, "scene": job.scene_id, "notes": job.notes})
    for note in job.notes:
        speaker.note(f"Note: {note}")
    speaker.say(job.id)
